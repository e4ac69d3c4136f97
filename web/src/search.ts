// The allowed search part of a page's URL. Unknown and invalid values are dropped, defaults are omitted.
export type SearchValue<T> = (raw: unknown) => T | undefined

/** Free text; empty text counts as none. */
export const text: SearchValue<string> = (raw) => {
  const value = typeof raw === 'number' || typeof raw === 'boolean' ? String(raw) : raw
  return typeof value === 'string' && value.trim() !== '' && value.length <= 300 ? value : undefined
}

/** A whole number not below `from`, which is the default and omitted. */
export const number =
  (from: number): SearchValue<number> =>
  (raw) => {
    const value = Number(raw)
    return Number.isSafeInteger(value) && value > from ? value : undefined
  }

export const oneOf =
  <const T extends string>(...values: readonly T[]): SearchValue<T> =>
  (raw) =>
    values.find((value) => value === raw)

/** Rows on a page of a list: 50, or the number in the URL. */
export const PAGE_SIZES = [50, 100, 200] as const
export const pageSize: SearchValue<100 | 200> = (raw) => ([100, 200] as const).find((size) => size === Number(raw))

export const flag: SearchValue<true> = (raw) => (raw === true || raw === 'true' ? true : undefined)

type Schema = Record<string, SearchValue<unknown>>
export type SearchOf<S extends Schema> = { [K in keyof S]?: Exclude<ReturnType<S[K]>, undefined> }

/** @returns a `validateSearch` for the router */
export function search<S extends Schema>(schema: S): (raw: Record<string, unknown>) => SearchOf<S> {
  return (raw) => {
    const found = Object.entries(schema).flatMap(([name, read]) => {
      const value = read(raw[name])
      return value === undefined ? [] : [[name, value] as const]
    })
    return Object.fromEntries(found) as SearchOf<S>
  }
}
