// Promotion: published packages of one distribution are copied into another, judged by the evidence there, and
// published.
import type { Origin } from '../../domain/audit.ts'
import type { Caller } from '../../domain/caller.ts'
import { Problem } from '../../domain/problem.ts'
import { unknownDistribution } from '../../formats/unknown-distribution.ts'
import type { Placed } from '../../formats/intake-format.ts'
import type { Bus } from '../../kernel/bus.ts'
import type { Db } from '../../store/db.ts'
import { headRows, recordsOf } from '../../store/records/artifact-query.ts'
import type { PackageRow } from '../../store/tables.ts'
import { copyRecords, requirePublished, type CopyDeps, type Copied } from './copy-records.ts'
import { unknownPackage } from '../delete-packages.ts'
import { openDistribution, type FormatRegistry } from '../identify.ts'
import { announceRecord } from '../records/announce.ts'
import type { PublishRecords } from '../publish-records.ts'

export interface PromotionRequest {
  package: string
  /** by default the newest published version of each architecture */
  version?: string | undefined
  arch?: string | undefined
  from_dist: string
  to_dist: string
}

export interface PromoteDeps extends CopyDeps {
  registry: FormatRegistry
  bus: Bus
  publishRecords: PublishRecords
  onError(error: unknown): void
}

/** Returns when clients of the target see the packages. All that match are promoted, or none. */
export type Promote = (request: PromotionRequest, caller: Caller, origin: Origin) => Promise<Copied[]>

export function createPromote(deps: PromoteDeps): Promote {
  return async (request, caller, origin) => {
    const { from, to } = openPair(deps.registry, request.from_dist, request.to_dist)
    const chosen = await choosePromoted(deps.db, request, from)
    const meta = { method: 'promotion' as const, importedBy: caller.name, origin, scopes: caller.scopes ?? null }
    const copied = await copyRecords(deps, chosen, from, to, meta)
    const rows = copied.flatMap(({ row }) => row ?? [])
    if (rows.length === 0) return copied
    await deps.publishRecords(rows, () => {})
    announcePromoted(deps.bus, rows)
    return copied
  }
}

/**
 * The two distributions of a promotion or migration. The source may be inactive: packages that it still serves can be moved.
 * @throws Problem('unknown_distribution', 'distribution_inactive', 'same_distribution', 'format_mismatch')
 */
export function openPair(
  registry: FormatRegistry,
  fromCodename: string,
  toCodename: string,
): { from: Placed; to: Placed } {
  const from = registry.find(fromCodename)
  if (!from) throw unknownDistribution(fromCodename, registry.distributions, 'unknown_distribution')
  const to = openDistribution(registry, toCodename)
  if (fromCodename === toCodename) throw new Problem('same_distribution', `${toCodename} is the source and the target`)
  if (from.format.id !== to.format.id)
    throw new Problem(
      'format_mismatch',
      `${fromCodename} has ${from.format.id} packages, ${toCodename} takes ${to.format.id} packages`,
    )
  return { from, to }
}

/** @returns ids @throws Problem('not_found') when there is no such package, 'not_published' when none of them is published */
export async function choosePromoted(db: Db, request: PromotionRequest, { format }: Placed): Promise<number[]> {
  const { package: name, version, arch, from_dist: distribution } = request
  const selector = { name, version, distribution, arch }
  const heads = await headRows(db, selector)
  const published = heads.filter((row) => row.status === 'published')
  const newest = new Map<string, (typeof heads)[number]>()
  for (const row of published) {
    const best = newest.get(row.arch)
    if (!best || format.versions.compare(row.version, best.version) > 0) newest.set(row.arch, row)
  }
  const [last] = await recordsOf(
    db,
    heads.slice(-1).map((row) => row.id),
  )
  if (!last) throw unknownPackage(selector)
  if (newest.size === 0) requirePublished(last)
  return [...newest.values()].map((row) => row.id)
}

export function announcePromoted(bus: Bus, rows: readonly PackageRow[]): void {
  for (const row of rows.filter(({ status }) => status !== 'published')) announceRecord(bus, row)
  for (const { name, version, distribution, status } of rows.filter((row) => row.status === 'published'))
    bus.emit('package', { action: 'promoted', package: name, version, distribution, status })
}
