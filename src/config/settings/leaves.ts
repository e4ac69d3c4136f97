// The settings as a flat table of paths, made from the declaration: defaults, nesting, masking, checking. Pure.
import type { TObject, TSchema } from 'typebox'
import Value from 'typebox/value'
import { DEVELOPMENT_DEFAULTS, SettingsSchema, type Settings } from '../../domain/settings.ts'
import { inactiveReason, isEntries, isSecret } from '../../domain/setting-kinds.ts'

export type Mode = 'development' | 'production'

export interface Leaf {
  /** `section.key`, or the bare key at the root; keys may contain dots */
  path: string
  section: string | null
  key: string
  schema: TSchema
  secret: boolean
  /** a map whose entries are data */
  entries: boolean
  /** why it has no effect yet; null when it has */
  inactive: string | null
}

/** Values by path. */
export type Values = ReadonlyMap<string, unknown>

export const MASK = '***'

export const SECTIONS: ReadonlyMap<string, TObject> = new Map(
  Object.entries(SettingsSchema.properties as Record<string, TSchema>).filter(
    (entry): entry is [string, TObject] => 'properties' in entry[1],
  ),
)

export const LEAVES: ReadonlyMap<string, Leaf> = new Map(
  Object.entries(SettingsSchema.properties as Record<string, TSchema>)
    .flatMap(([name, schema]) => {
      const section = SECTIONS.get(name)
      return section
        ? Object.entries(section.properties).map(([key, inner]) => leafOf(name, key, inner, section))
        : [leafOf(null, name, schema)]
    })
    .map((leaf) => [leaf.path, leaf]),
)

/** Settings outside any section. */
export const ROOT_LEAVES: ReadonlyMap<string, Leaf> = new Map([...LEAVES].filter(([, leaf]) => leaf.section === null))

function leafOf(section: string | null, key: string, schema: TSchema, parent?: TSchema): Leaf {
  return {
    path: section === null ? key : `${section}.${key}`,
    section,
    key,
    schema,
    secret: isSecret(schema),
    entries: isEntries(schema),
    inactive: inactiveReason(schema) ?? (parent ? inactiveReason(parent) : null),
  }
}

export function defaultOf(leaf: Leaf, mode: Mode): unknown {
  if (mode === 'development' && leaf.path in DEVELOPMENT_DEFAULTS) return DEVELOPMENT_DEFAULTS[leaf.path]
  return (leaf.schema as { default?: unknown }).default
}

/** Every setting: the stored value, else the default. */
export function effective(set: Values, mode: Mode): Map<string, unknown> {
  return new Map(
    [...LEAVES.values()].map((leaf) => [leaf.path, set.has(leaf.path) ? set.get(leaf.path) : defaultOf(leaf, mode)]),
  )
}

/** The values as a nested document. */
export function nest(values: Values): Record<string, unknown> {
  const document: Record<string, unknown> = {}
  for (const leaf of LEAVES.values()) {
    if (!values.has(leaf.path)) continue
    const value = structuredClone(values.get(leaf.path))
    if (leaf.section === null) document[leaf.key] = value
    else ((document[leaf.section] ??= {}) as Record<string, unknown>)[leaf.key] = value
  }
  return document
}

/** The same values with `***` for secrets that are set. */
export function masked(values: Values): Map<string, unknown> {
  return new Map([...values].map(([path, value]) => [path, LEAVES.get(path)?.secret && value !== '' ? MASK : value]))
}

/** The document that other rooms get, deeply frozen. */
export function frozen(values: Values): Settings {
  return deepFreeze(nest(values)) as unknown as Settings
}

function deepFreeze(value: object): object {
  for (const inner of Object.values(value) as unknown[])
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner)
  return Object.freeze(value)
}

/** Paths whose values differ. */
export function differing(before: Values, after: Values): string[] {
  return [...LEAVES.keys()].filter((path) => !equal(before.get(path), after.get(path)))
}

export function equal(a: unknown, b: unknown): boolean {
  return Value.Equal(a, b)
}

/** What is wrong with a value, as the end of the sentence "FIELD …"; null when nothing is. Never repeats the value. */
export function faultOf(leaf: Leaf, value: unknown): { at: string; message: string } | null {
  if (Value.Check(leaf.schema, value)) return null
  const errors = Value.Errors(leaf.schema, value)
  const allowed = errors.find((error) => error.keyword === 'enum')
  const first = allowed ?? errors[0]
  const at = placeOf(first?.instancePath ?? '', 'items' in leaf.schema)
  const params = (first?.params ?? {}) as { allowedValues?: unknown[]; requiredProperties?: string[] }
  const [missing] = first?.keyword === 'required' ? (params.requiredProperties ?? []) : []
  if (missing !== undefined) return { at: `${at}.${missing}`, message: 'is missing' }
  // The pattern of a map, or the object of a list, does not allow this key.
  if (first?.keyword === 'boolean') return { at, message: 'is not a name that may be here' }
  const words = params.allowedValues
  return { at, message: words ? `must be one of ${words.join(', ')}` : (first?.message ?? 'is not valid') }
}

/** The place inside a setting, to be appended to its path: `.key` of a map, `[0].key` of a list. */
function placeOf(pointer: string, isList: boolean): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (isList && /^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join('')
}
