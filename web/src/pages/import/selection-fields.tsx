// Which packages of a source a mirror selects: the fields, and what they mean for the API.
import { NumberInput, Switch, TagsInput, Textarea } from '@mantine/core'
import type { Answered } from '../../api/api.ts'

type Selection = Answered<'GET /import/mirror/sources/{id}'>['selection']

export interface TypedSelection {
  globs: string[]
  /** separated by spaces, commas or lines */
  names: string
  exclude: string[]
  sections: string[]
  architectures: string[]
  kept: number | string
  needed: boolean
  removes: boolean
}

/** @param given the stored selection; undefined for a new mirror */
export function typedOf(given: Selection | undefined): TypedSelection {
  return {
    globs: given?.globs ?? [],
    names: (given?.names ?? []).join('\n'),
    exclude: given?.exclude ?? [],
    sections: given?.sections ?? [],
    architectures: given?.architectures ?? [],
    kept: given ? (given.keep_latest ?? '') : 1,
    needed: given?.with_dependencies ?? false,
    removes: given?.remove_withdrawn ?? false,
  }
}

export function selectionOf({ names, kept, needed, removes, ...lists }: TypedSelection) {
  return {
    names: names.split(/[\s,]+/).filter(Boolean),
    ...lists,
    with_dependencies: needed,
    remove_withdrawn: removes,
    keep_latest: kept === '' ? null : Number(kept),
  }
}

export function SelectionFields({
  typed,
  put,
}: {
  typed: TypedSelection
  put: (more: Partial<TypedSelection>) => void
}) {
  return (
    <>
      <TagsInput
        label="Patterns of names"
        description="* is any text, ? one character; * alone selects everything."
        value={typed.globs}
        onChange={(globs) => put({ globs })}
      />
      <Textarea
        label="Names"
        description="Whole names, separated by spaces or lines."
        autosize
        minRows={2}
        maxRows={8}
        value={typed.names}
        onChange={(event) => put({ names: event.currentTarget.value })}
      />
      <TagsInput label="Without names like" value={typed.exclude} onChange={(exclude) => put({ exclude })} />
      <TagsInput
        label="Sections"
        description="Patterns of sections (rpm: groups). Empty: all."
        value={typed.sections}
        onChange={(sections) => put({ sections })}
      />
      <TagsInput
        label="Architectures"
        description="Empty: those of the distribution."
        value={typed.architectures}
        onChange={(architectures) => put({ architectures })}
      />
      <NumberInput
        label="Newest versions of each package"
        description="Empty: all versions."
        min={1}
        max={100}
        allowDecimal={false}
        value={typed.kept}
        onChange={(kept) => put({ kept })}
      />
      <Switch
        label="With dependencies"
        description="Also what the selected packages need, as far as the source has it."
        checked={typed.needed}
        onChange={(event) => put({ needed: event.currentTarget.checked })}
      />
      <Switch
        label="Delete here what the source withdraws"
        description="Only packages that this mirror brought."
        checked={typed.removes}
        onChange={(event) => put({ removes: event.currentTarget.checked })}
      />
    </>
  )
}
