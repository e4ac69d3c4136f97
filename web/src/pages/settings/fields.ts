// Chooses the control for a setting, and converts its text to a value. Pure.
import type { FieldSchema } from 'virtual:settings-schema'

export type Control = 'switch' | 'number' | 'choice' | 'secret' | 'map' | 'list' | 'text'

export function controlOf(schema: FieldSchema): Control {
  if (schema.patternProperties) return 'map'
  if (schema.type === 'array') return 'list'
  if (schema.format === 'password') return 'secret'
  if (choicesOf(schema)) return 'choice'
  if (schema.type === 'boolean') return 'switch'
  if (schema.type === 'integer') return 'number'
  return 'text'
}

/** The options of a choice; `''` means null where that is allowed. */
export function choicesOf(schema: FieldSchema): string[] | null {
  if (schema.enum) return schema.enum
  const words = schema.anyOf?.find((part) => part.enum)?.enum
  return words ? ['', ...words] : null
}

export type Values = Record<string, unknown>

/** What every control shows besides its value. */
export interface Common {
  label: string
  description: string
  error: string | undefined
  disabled: boolean
}

/**
 * The differences as the body of PATCH: only changed keys, so that two people who change different settings do not undo each
 * other's changes. Entries that were removed from a map are sent as null.
 */
export function changesOf(before: Values, after: Values): Values {
  return Object.fromEntries(
    Object.keys(after).flatMap((key) => {
      const [was, is] = [before[key], after[key]]
      if (same(was, is)) return []
      return [[key, isMap(was) && isMap(is) ? { ...absentAsNull(was, is), ...changesOf(was, is) } : is]]
    }),
  )
}

function absentAsNull(was: Values, is: Values): Values {
  return Object.fromEntries(
    Object.keys(was)
      .filter((key) => !(key in is))
      .map((key) => [key, null]),
  )
}

/**
 * The form after somebody else changed the settings: edited values stay, all others are theirs.
 * @param isSecret a secret is never shown, so nobody can see whether the two values differ
 * @returns `conflicts`: keys that were edited here and differ from the stored value
 */
export function rebase(
  { before, mine, theirs }: { before: Values; mine: Values; theirs: Values },
  isSecret: (key: string) => boolean,
): { values: Values; conflicts: string[] } {
  const edited = Object.keys(mine).filter((key) => !same(before[key], mine[key]))
  const values = { ...theirs, ...Object.fromEntries(edited.map((key) => [key, mine[key]])) }
  const conflicts = edited.filter(
    (key) => isSecret(key) || (!same(theirs[key], before[key]) && !same(theirs[key], mine[key])),
  )
  return { values, conflicts }
}

const isMap = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value)
const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
