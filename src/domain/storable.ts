// Which text a database column can hold. Pure.

/** `text` and `jsonb` take neither NUL nor half of a surrogate pair: https://www.postgresql.org/docs/15/datatype-json.html */
const UNSTORABLE = /[\0\p{Cs}]/u

/** False for a string that no database column can store. */
export function isStorable(value: unknown): boolean {
  return !(typeof value === 'string' && UNSTORABLE.test(value))
}

/** The same check for every key and string in parsed JSON. */
export function isStorableJson(value: unknown): boolean {
  let fits = true
  JSON.stringify(value, (key, inner: unknown) => {
    fits &&= isStorable(key) && isStorable(inner)
    return inner
  })
  return fits
}
