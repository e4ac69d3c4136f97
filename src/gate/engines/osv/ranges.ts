// Whether a version is affected, by OSV's evaluation. Pure.
// https://ossf.github.io/osv-schema/#evaluation
import type { AffectedPackage, RangeEvent, VersionRange } from '../../../domain/advisory.ts'
import type { Order } from '../../../domain/versions/order.ts'
import { compareSemver } from '../../../domain/versions/semver.ts'

export interface Exposure {
  /** versions that end the ranges around the version */
  fixes: string[]
  /** `unknown`: the range ends, but the advisory does not name the fixed version */
  fixState: 'fixed' | 'not-fixed' | 'unknown'
}

/** @returns null when the version is not affected */
export function exposure(
  affected: Pick<AffectedPackage, 'ranges' | 'versions'>,
  version: string,
  order: Order,
): Exposure | null {
  const hits = affected.ranges.flatMap((range) => prepared(range, order)(version) ?? [])
  if (hits.length > 0) {
    const fixes = hits.flatMap((hit) => hit.fixed ?? [])
    return { fixes, fixState: fixes.length > 0 ? 'fixed' : hits.some((hit) => hit.ended) ? 'unknown' : 'not-fixed' }
  }
  return affected.versions.includes(version) ? { fixes: [], fixState: 'unknown' } : null
}

/** A function that says whether any of the ranges contains a version; prepared once for many versions. */
export function covering(ranges: readonly VersionRange[], order: Order): (version: string) => boolean {
  const ready = ranges.map((range) => prepared(range, order))
  return (version) => ready.some((inRange) => inRange(version) !== null)
}

interface Hit {
  fixed: string | null
  ended: boolean
}

function prepared(range: VersionRange, ecosystemOrder: Order): (version: string) => Hit | null {
  const order = range.type === 'SEMVER' ? compareSemver : ecosystemOrder
  const limits = range.events.flatMap((event) => event.limit ?? [])
  const limited = limits.length > 0 && !limits.includes('*')
  const events = range.events.filter((event) => event.limit === undefined).sort((a, b) => orderEvents(a, b, order))
  return (version) => {
    if (limited && !limits.some((limit) => order(version, limit) < 0)) return null
    let inside = false
    for (const event of events) {
      if (event.introduced !== undefined) {
        if (reached(event.introduced, version, order)) inside = true
      } else if (event.fixed !== undefined) {
        if (order(version, event.fixed) >= 0) inside = false
        else if (inside) return { fixed: event.fixed, ended: true }
      } else if (event.last_affected !== undefined) {
        if (order(version, event.last_affected) > 0) inside = false
        else if (inside) return { fixed: null, ended: true }
      }
    }
    return inside ? { fixed: null, ended: limited } : null
  }
}

/** `introduced: "0"` lies before every version. */
const reached = (introduced: string, version: string, order: Order) =>
  introduced === '0' || order(version, introduced) >= 0

function orderEvents(a: RangeEvent, b: RangeEvent, order: Order): number {
  if (a.introduced === '0' || b.introduced === '0') return Number(b.introduced === '0') - Number(a.introduced === '0')
  return order(place(a), place(b))
}

const place = (event: RangeEvent) => event.introduced ?? event.fixed ?? event.last_affected ?? ''
