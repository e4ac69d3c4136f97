// Which packages a mirror imports from its source: the stored document, with its defaults and bounds.
import Type, { type Static } from 'typebox'
import Value from 'typebox/value'

const texts = (maxItems: number, description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems, default: [], description })

export const MirrorSelectionSchema = Type.Object(
  {
    names: texts(10_000, 'Package names.'),
    globs: texts(200, 'Patterns of package names: `*` is any text, `?` one character. `*` alone selects everything.'),
    exclude: texts(200, 'Patterns of package names that are left out.'),
    sections: texts(200, 'Patterns of sections (rpm: groups); empty selects all sections.'),
    architectures: texts(20, 'Architectures; empty selects those of the distribution.'),
    keep_latest: Type.Union([Type.Integer({ minimum: 1, maximum: 100 }), Type.Null()], {
      default: 1,
      description: 'Versions of each name and architecture that are brought, the newest ones; null brings all.',
    }),
    with_dependencies: Type.Boolean({
      default: false,
      description:
        'Also bring what the selected packages need, from the same source: the newest versions that fit. `exclude` and `architectures` hold for them, `sections` does not.',
    }),
    remove_withdrawn: Type.Boolean({
      default: false,
      description: 'Delete packages that this mirror brought and that the source no longer offers.',
    }),
    remove_at_most_percent: Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 5,
      description:
        'Share of what this mirror brought above which a run deletes nothing (up to 20 packages it always may). Raise it for the run that should.',
    }),
  },
  { title: 'MirrorSelection' },
)

/** Names are selected by `names` or `globs`; `sections`, `architectures` and `exclude` narrow them. */
export type MirrorSelection = Static<typeof MirrorSelectionSchema>

/** The selection with the defaults of the keys that are missing. */
export function selectionOf(given: Partial<MirrorSelection>): MirrorSelection {
  return { ...Value.Create(MirrorSelectionSchema), ...given }
}
