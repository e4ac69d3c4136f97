// The records of one name in display order, over all formats and distributions.
import type { VersionScheme } from '../../formats/ecosystem.ts'
import type { PackageRow } from '../../store/tables.ts'
import { isLater } from './artifacts.ts'

type Head = Pick<PackageRow, 'id' | 'version' | 'status' | 'imported_at' | 'format' | 'distribution'>

/** The most recently arrived format is first, because versions of two formats cannot be compared; in each the latest is first. */
export function byFormat<R extends Head>(rows: readonly R[], formatOf: (row: R) => { versions: VersionScheme }): R[] {
  const newest = new Map<string, number>()
  for (const row of rows)
    newest.set(row.format, Math.max(newest.get(row.format) ?? 0, new Date(row.imported_at).getTime()))
  const ofFormat = (row: R) => newest.get(row.format) ?? 0
  return [...rows].sort((a, b) => {
    if (a.format === b.format) return isLater(formatOf(a).versions, a, b) ? -1 : 1
    return ofFormat(b) - ofFormat(a) || (a.format < b.format ? -1 : 1)
  })
}

/** Takes as many as fit: the first of each format and distribution, then others, in the given order. */
export function someOfEachPlace<R extends Pick<Head, 'format' | 'distribution'>>(
  sorted: readonly R[],
  most: number,
): R[] {
  const places = new Map<string, R>()
  for (const row of sorted) {
    const place = `${row.format} ${row.distribution}`
    if (!places.has(place)) places.set(place, row)
  }
  const kept = new Set([...new Set([...places.values(), ...sorted])].slice(0, most))
  return sorted.filter((row) => kept.has(row))
}
