// Copies published records into another distribution, in one transaction: same bytes, same verdicts, same decisions.
import type { Origin } from '../../domain/audit.ts'
import { Problem } from '../../domain/problem.ts'
import type { Scopes } from '../../domain/scopes.ts'
import { unpackFacts } from '../../domain/packed-facts.ts'
import type { Offered } from '../../formats/format.ts'
import { missingIn } from '../../gate/dependencies.ts'
import type { Clock } from '../../kernel/clock.ts'
import { renderNew } from '../records/entries.ts'
import { insertTogether, type NewRecord } from '../records/insert-records.ts'
import { lockDistributions } from '../records/lock-order.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'
import { insertableBlob } from '../../store/files/blob-query.ts'
import { withBytes } from '../../store/files/placement.ts'
import type { Pool } from '../../store/files/pool.ts'
import { recordsOf } from '../../store/records/artifact-query.ts'
import { activeDecisions, restoreDecision } from '../records/decisions.ts'
import type { PackageRow } from '../../store/tables.ts'
import { refuseTakenPath, requireFitting } from '../fit.ts'
import { namesOf } from '../new-record.ts'
import { requireWithin } from '../within-scopes.ts'

export interface CopyDeps {
  db: Db
  clock: Clock
  audit: AuditLog
  pool: Pick<Pool, 'has'>
}

/** Who copies, and why. */
export interface CopyMeta {
  method: 'promotion' | 'migration'
  importedBy: string
  origin: Origin
  /** what the token that asked for it may bring */
  scopes?: Scopes | null
}

/** What became of one record: the new row, or null when the target has the same package already. */
export interface Copied {
  source: PackageRow
  row: PackageRow | null
}

/**
 * Copies records with their findings and the decisions in force. All or none.
 * @param ids of records of `from`
 * @throws Problem('not_published') for a record that is held or was refused, here or in the target; 'duplicate_conflict',
 * 'rejected_bytes', 'arch_mismatch', 'invalid_package', 'not_found'
 */
export async function copyRecords(
  deps: CopyDeps,
  ids: readonly number[],
  from: Offered,
  to: Offered,
  meta: CopyMeta,
): Promise<Copied[]> {
  const { db } = deps
  const sources = await recordsOf(db, ids)
  // Deleted since the caller chose them.
  if (sources.length < ids.length)
    throw new Problem('not_found', `a package is gone from ${from.distribution.codename}`)
  const inputs = new Map<number, NewRecord>()
  for (const source of sources) inputs.set(source.id, await inputOf(deps, source, from, to, meta))
  const ensureBytes = async () => {
    for (const { ensureBytes: ensure } of inputs.values()) await ensure()
  }
  return withBytes(db, ensureBytes, (seen) =>
    transaction(db, async (tx) => {
      await lockDistributions(tx, [from.distribution.codename, to.distribution.codename])
      const present = await sourcesStillPublished(tx, ids, sources)
      const { fresh, known } = await sortOut(tx, present, to)
      const rows =
        fresh.length === 0
          ? []
          : await insertTogether(
              tx,
              deps.audit,
              to,
              fresh.map(({ id }) => inputs.get(id) as NewRecord),
              seen,
            )
      const decisions = await activeDecisions(tx, ids)
      for (const [i, source] of fresh.entries()) {
        const row = rows[i] as PackageRow
        for (const decision of [...(decisions.get(source.id) ?? [])].reverse())
          await restoreDecision(tx, row, { ...decision, distribution: row.distribution })
      }
      return [
        ...fresh.map((source, i) => ({ source, row: rows[i] as PackageRow })),
        ...known.map((source) => ({ source, row: null })),
      ]
    }),
  )
}

/** What was read before the locks may have been quarantined or deleted since. */
async function sourcesStillPublished(
  tx: Db,
  ids: readonly number[],
  before: readonly PackageRow[],
): Promise<PackageRow[]> {
  const now = await recordsOf(tx, ids)
  return before.map(({ id, name, version, arch, distribution, sha256 }) => {
    const row = now.find((one) => one.id === id)
    if (row?.sha256 !== sha256)
      throw new Problem('not_found', `${name} ${version} (${arch}) is gone from ${distribution}`)
    requirePublished(row)
    return row
  })
}

/** @throws Problem('not_published') */
export function requirePublished({ name, version, arch, distribution, status, served }: PackageRow): void {
  if (status === 'published' && served) return
  throw new Problem('not_published', `${name} ${version} (${arch}) in ${distribution} is ${status}`, { status })
}

/** Which of the records the target has already, and which it may take. */
async function sortOut(
  tx: Db,
  sources: readonly PackageRow[],
  to: Offered,
): Promise<{ fresh: PackageRow[]; known: PackageRow[] }> {
  const { codename } = to.distribution
  const digests = [...new Set(sources.flatMap((row) => [row.sha256, row.received_sha256]))]
  const rejected = await tx
    .selectFrom('packages')
    .select(['name', 'version', 'distribution'])
    .where('status', '=', 'rejected')
    .where((eb) => eb.or([eb('sha256', 'in', digests), eb('received_sha256', 'in', digests)]))
    .executeTakeFirst()
  if (rejected)
    throw new Problem(
      'rejected_bytes',
      `the bytes of ${rejected.name} ${rejected.version} were rejected in ${rejected.distribution}`,
    )
  const namesakes = await tx
    .selectFrom('records')
    .selectAll()
    .where('distribution', '=', codename)
    .where('name', 'in', [...new Set(sources.map((row) => row.name))])
    .execute()
  const fresh: PackageRow[] = []
  const known: PackageRow[] = []
  for (const source of sources) {
    const alike = namesakes.filter((row) => row.name === source.name && row.version === source.version)
    const existing = alike.find((row) => row.arch === source.arch)
    if (!existing) {
      refuseTakenPath({ ...to, filename: source.filename, sha256: source.sha256, arch: source.arch }, alike)
      fresh.push(source)
    } else if (existing.sha256 !== source.sha256) {
      throw new Problem('duplicate_conflict', `${source.name} ${source.version} is in ${codename} with other bytes`, {
        existing_sha256: existing.sha256,
        incoming_sha256: source.sha256,
        status: existing.status,
      })
    } else {
      requirePublished(existing)
      known.push(source)
    }
  }
  return { fresh, known }
}

/** The new record, with everything that can be read and rendered before the transaction. */
async function inputOf(
  { db, clock, pool }: CopyDeps,
  source: PackageRow,
  from: Offered,
  to: Offered,
  meta: CopyMeta,
): Promise<NewRecord> {
  requirePublished(source)
  const blob = await insertableBlob(db, source.sha256)
  if (!blob) throw new Problem('not_found', `the file of ${source.name} ${source.version} is gone`)
  const facts = unpackFacts(blob)
  requireFitting(facts, to)
  if (meta.scopes) requireWithin(meta.scopes, to, facts)
  const imported_at = clock.now()
  // All packages of a migration come along.
  const alongside = meta.method === 'migration' ? [from.distribution.codename] : []
  const missing = (await missingIn(db, facts, to, alongside)).map((requirement) => requirement.text)
  const { codename } = to.distribution
  const { format, name, version, arch, sha256, received_sha256, cve_status, import_group, last_scan } = source
  return {
    blob,
    review: null,
    entries: await renderNew({ imported_at }, blob, facts, to),
    async ensureBytes() {
      if (await pool.has({ format, sha256, filename: source.filename })) return
      throw new Problem('not_found', `the file of ${name} ${version} is gone`)
    },
    audit: {
      ...namesOf({ name, version, arch, distribution: codename }),
      action: meta.method === 'promotion' ? 'PROMOTE' : 'MIGRATE',
      result: 'SUCCESS',
      user: meta.importedBy,
      outcome: 'published',
      detail: `from ${source.distribution}`,
      ip: meta.origin.ip,
      requestId: meta.origin.requestId,
      extra: { sha256, from: source.distribution },
    },
    record: {
      ...{ distribution: codename, format, name, version, arch, sha256, received_sha256 },
      ...{ status: 'published', cve_status, held_reason: null, import_group, last_scan, imported_at },
      imported_by: meta.importedBy,
      import_method: meta.method,
      promoted_from: source.distribution,
      pipeline: JSON.stringify({ ...source.pipeline, dependencies: missing.length > 0 ? 'missing' : 'satisfied' }),
      validation_steps: JSON.stringify(stepsOf(source, missing, meta)),
      coverage: JSON.stringify(source.coverage),
      deps_missing: JSON.stringify(missing),
      tags: JSON.stringify(source.tags),
      cve_summary: source.cve_summary && JSON.stringify(source.cve_summary),
      cve_results: source.cve_results && JSON.stringify(source.cve_results),
    },
  }
}

function stepsOf(source: PackageRow, missing: readonly string[], meta: CopyMeta): object[] {
  const replaced = new Set(['provenance', 'dependencies', 'publication'])
  const kept = (source.validation_steps as { name: string }[]).filter(({ name }) => !replaced.has(name))
  const step = (name: string, message: string, more: object = {}) => ({
    ...{ name, passed: true, message, detail: null },
    ...more,
  })
  return [
    ...kept,
    step(
      'provenance',
      `${meta.method} from ${source.distribution} by ${meta.importedBy}, with its verdicts and decisions`,
    ),
    missing.length === 0
      ? step('dependencies', 'every dependency is published here')
      : step('dependencies', `not published here: ${missing.slice(0, 10).join('; ')}`, { warning: true }),
    step('publication', 'offered to clients'),
  ]
}
