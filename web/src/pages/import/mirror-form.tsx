// What to mirror of a source, with a dry run of the typed values before they are stored.
import { Button, Group, Modal, NumberInput, Select, Stack, Switch, TagsInput, Textarea } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, type Answered } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { useDistributions } from '../../parts/distributions.ts'
import { Form } from '../../parts/form.tsx'
import { Plan } from './mirror-plan.tsx'

export type ListedMirror = Answered<'GET /import/mirror/sources'>['sources'][number]
type Mirror = Answered<'GET /import/mirror/sources/{id}'>

interface MirrorFormProps {
  /** the mirror to change; without it, the person chooses one of `sources` */
  mirror?: Mirror
  sources?: readonly ListedMirror[]
  close: () => void
}

export function MirrorForm({ mirror, sources = [], close }: MirrorFormProps) {
  const queries = useQueryClient()
  const [chosen, setChosen] = useState<string | null>(mirror ? String(mirror.id) : null)
  const format = mirror?.format ?? sources.find(({ id }) => String(id) === chosen)?.format
  const targets = useDistributions().data?.distributions.filter((one) => one.active && one.format === format) ?? []
  const given = mirror?.selection
  const [distribution, setDistribution] = useState<string | null>(mirror?.distribution ?? null)
  const [globs, setGlobs] = useState(given?.globs ?? [])
  const [names, setNames] = useState((given?.names ?? []).join('\n'))
  const [exclude, setExclude] = useState(given?.exclude ?? [])
  const [sections, setSections] = useState(given?.sections ?? [])
  const [architectures, setArchitectures] = useState(given?.architectures ?? [])
  const [kept, setKept] = useState<number | string>(given ? (given.keep_latest ?? '') : 1)
  const [needed, setNeeded] = useState(given?.with_dependencies ?? false)
  const [removes, setRemoves] = useState(given?.remove_withdrawn ?? false)
  const [enabled, setEnabled] = useState(mirror?.enabled ?? true)
  const request = {
    params: { id: chosen ?? '' },
    body: {
      ...(distribution !== null && { distribution }),
      enabled,
      names: names.split(/[\s,]+/).filter(Boolean),
      ...{ globs, exclude, sections, architectures, with_dependencies: needed, remove_withdrawn: removes },
      keep_latest: kept === '' ? null : Number(kept),
      ...(given && { remove_at_most_percent: given.remove_at_most_percent }),
    },
  }
  const plan = useMutation({ mutationFn: () => call('POST /import/mirror/sources/{id}/plan', request) })
  const save = useMutation({
    mutationFn: () => call('PUT /import/mirror/sources/{id}', request),
    onSuccess: async () => {
      await queries.invalidateQueries()
      close()
    },
  })
  return (
    <Modal opened onClose={close} title={mirror ? mirror.label : 'Mirror a source'} size="xl">
      <Form send={() => save.mutate()}>
        <Stack>
          {save.isError && <Failure error={save.error} />}
          {!mirror && (
            <Select
              label="Source"
              required
              searchable
              data={sources.map(({ id, label }) => ({ value: String(id), label }))}
              value={chosen}
              onChange={(value) => {
                setChosen(value)
                setDistribution(null)
              }}
              data-autofocus
            />
          )}
          <Select
            label="Into"
            description="Empty: the distribution that the source belongs to."
            searchable
            clearable
            disabled={chosen === null}
            data={targets.map(({ codename }) => codename)}
            value={distribution}
            onChange={setDistribution}
          />
          <TagsInput
            label="Patterns of names"
            description="* is any text, ? one character; * alone selects everything."
            value={globs}
            onChange={setGlobs}
          />
          <Textarea
            label="Names"
            description="Whole names, separated by spaces or lines."
            autosize
            minRows={2}
            maxRows={8}
            value={names}
            onChange={(event) => setNames(event.currentTarget.value)}
          />
          <TagsInput label="Without names like" value={exclude} onChange={setExclude} />
          <TagsInput
            label="Sections"
            description="Patterns of sections (rpm: groups). Empty: all."
            value={sections}
            onChange={setSections}
          />
          <TagsInput
            label="Architectures"
            description="Empty: those of the distribution."
            value={architectures}
            onChange={setArchitectures}
          />
          <NumberInput
            label="Newest versions of each package"
            description="Empty: all versions."
            min={1}
            max={100}
            allowDecimal={false}
            value={kept}
            onChange={setKept}
          />
          <Switch
            label="With dependencies"
            description="Also what the selected packages need, as far as the source has it."
            checked={needed}
            onChange={(event) => setNeeded(event.currentTarget.checked)}
          />
          <Switch
            label="Delete here what the source withdraws"
            description="Only packages that this mirror brought."
            checked={removes}
            onChange={(event) => setRemoves(event.currentTarget.checked)}
          />
          <Switch
            label="Include it in the daily run"
            checked={enabled}
            onChange={(event) => setEnabled(event.currentTarget.checked)}
          />
          {plan.isError && <Failure error={plan.error} />}
          {plan.data && <Plan plan={plan.data} />}
          <Group>
            <Button type="submit" loading={save.isPending} disabled={chosen === null}>
              Save
            </Button>
            <Button variant="default" loading={plan.isPending} disabled={chosen === null} onClick={() => plan.mutate()}>
              Dry run
            </Button>
            <Button variant="default" onClick={close}>
              Close
            </Button>
          </Group>
        </Stack>
      </Form>
    </Modal>
  )
}
