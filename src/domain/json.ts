// Typed reading of JSON that others wrote: any field may be missing or of another type. Pure.

export type Json = Readonly<Record<string, unknown>>

/** JSON with the keys of every object sorted, because a jsonb column changes their order. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    isObject(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one,
  )
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The object at a key; an empty one when the key holds no object. */
export function objectAt(from: Json, key: string): Json {
  const value = from[key]
  return isObject(value) ? value : {}
}

/**
 * The list of objects at a key, for documents in which anything else is a defect; empty when the key is missing or null.
 * @throws Error with a sentence when the value is not a list, or one of its items is not an object
 */
export function requireObjects(from: Json, key: string): Json[] {
  const list = requireList(from, key)
  if (!list.every(isObject)) throw new Error(`${key} holds something other than objects`)
  return list
}

/** The same for a list of strings. */
export function requireStrings(from: Json, key: string): string[] {
  const list = requireList(from, key)
  if (!list.every((item) => typeof item === 'string')) throw new Error(`${key} holds something other than strings`)
  return list
}

function requireList(from: Json, key: string): unknown[] {
  const value = from[key] ?? []
  if (!Array.isArray(value)) throw new Error(`${key} is not a list`)
  return value
}

/** The objects in the list at a key; empty when the key holds no list. */
export function objectsAt(from: Json, key: string): Json[] {
  const value = from[key]
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** The non-empty strings in the list at a key. */
export function stringsAt(from: Json, key: string): string[] {
  const value = from[key]
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string' && item !== '') : []
}

/** A non-empty string, else null. */
export function stringAt(from: Json, key: string): string | null {
  const value = from[key]
  return typeof value === 'string' && value !== '' ? value : null
}

/** ISO 8601 in UTC; null when the key holds no time. */
export function timeAt(from: Json, key: string): string | null {
  const text = stringAt(from, key)
  const time = text === null ? NaN : Date.parse(text)
  return Number.isNaN(time) ? null : new Date(time).toISOString()
}

/**
 * Parses a document. NUL and unpaired surrogates are removed or replaced, because PostgreSQL stores neither.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  // In JSON text both can appear only as escapes.
  if (!/\\u(?:0000|d[89a-f])/i.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key, value: unknown) =>
    typeof value === 'string' ? value.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\ufffd') : value,
  )
}
