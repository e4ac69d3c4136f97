// Which control a setting gets, and how its text becomes a value. Pure.
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

/** The words of a choice; `''` stands for null where that is allowed. */
export function choicesOf(schema: FieldSchema): string[] | null {
  if (schema.enum) return schema.enum
  const words = schema.anyOf?.find((part) => part.enum)?.enum
  return words ? ['', ...words] : null
}

export type Values = Record<string, unknown>

/**
 * What differs, as the body of PATCH: only changed keys, so that two people who change different settings do not undo each other.
 * Entries that were removed from a map are sent as null.
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

const isMap = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value)
const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
