// Reading OSV's JSON, which others write: any field may be missing or of another type. Pure.

export type Json = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value of a key if it is an object, else an empty one. */
export function objectAt(from: Json, key: string): Json {
  const value = from[key]
  return isObject(value) ? value : {}
}

export function objectsAt(from: Json, key: string): Json[] {
  const value = from[key]
  return Array.isArray(value) ? value.filter(isObject) : []
}

export function stringsAt(from: Json, key: string): string[] {
  const value = from[key]
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string' && item !== '') : []
}

export function stringAt(from: Json, key: string): string | null {
  const value = from[key]
  return typeof value === 'string' && value !== '' ? value : null
}

/** ISO 8601 in UTC; null where the key holds no time. */
export function timeAt(from: Json, key: string): string | null {
  const text = stringAt(from, key)
  const time = text === null ? NaN : Date.parse(text)
  return Number.isNaN(time) ? null : new Date(time).toISOString()
}

/**
 * Parses one file.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  // PostgreSQL stores neither NUL nor half a surrogate pair; both can only stand escaped in JSON.
  if (!/\\u(?:0000|d[89a-f])/i.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key, value: unknown) =>
    typeof value === 'string' ? value.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\ufffd') : value,
  )
}
