// Copies published records into another distribution, in one transaction: same bytes and decisions. Each copy is judged by
// the evidence in its new distribution before it is offered.
import type { ActiveDecision } from '../../domain/acceptance.ts'
import { ARRIVING, decide, type Subject } from '../../domain/decide.ts'
import type { Evidence } from '../../domain/evidence.ts'
import type { Distribution } from '../../domain/package.ts'
import type { Settings } from '../../domain/settings.ts'
import { Problem } from '../../domain/problem.ts'
import { unpackFacts } from '../../domain/packed-facts.ts'
import { isRefused } from '../../domain/transitions.ts'
import type { Placed } from '../../formats/intake-format.ts'
import { missingIn, seenMissing } from '../../gate/dependencies.ts'
import type { Clock } from '../../kernel/clock.ts'
import { renderNew } from '../records/entries.ts'
import { copyEvidence } from '../records/evidence.ts'
import { insertTogether, type NewRecord } from '../records/insert-records.ts'
import { lockDistributions } from '../records/lock-order.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'
import { insertableBlob } from '../../store/files/blob-query.ts'
import { withBytes } from '../../store/files/with-bytes.ts'
import type { Pool } from '../../store/files/pool.ts'
import { recordsOf } from '../../store/records/artifact-query.ts'
import { activeDecisions, restoreDecision } from '../records/decisions.ts'
import type { PackageRow } from '../../store/tables.ts'
import { refuseTakenPath, requireFitting } from '../fit.ts'
import { namesOf, RESULTS, reviewOf } from '../new-record.ts'
import { copiedRecord, type CopyMeta } from './copied-record.ts'
import { requireWithin } from '../within-scopes.ts'

export interface CopyDeps {
  db: Db
  clock: Clock
  audit: AuditLog
  pool: Pick<Pool, 'has'>
  settings(): Settings
  /** The evidence about a published record in the target: its findings, and those from the advisories of the target. */
  evidenceThere(source: PackageRow, target: Distribution): Promise<Evidence>
}

/** The result for one record: the new row, or null when the target has the same package already. */
export interface Copied {
  source: PackageRow
  row: PackageRow | null
}

/**
 * Copies records with their findings and the decisions in force: all or none. A copy that the policy holds or refuses in the
 * target is not offered.
 * @param ids of records of `from`
 * @throws Problem('not_published') for a record that is held or was refused, here or in the target; 'duplicate_conflict',
 * 'rejected_bytes', 'arch_mismatch', 'invalid_package', 'not_found'
 */
export async function copyRecords(
  deps: CopyDeps,
  ids: readonly number[],
  from: Placed,
  to: Placed,
  meta: CopyMeta,
): Promise<Copied[]> {
  const { db } = deps
  const sources = await recordsOf(db, ids)
  // Deleted since the caller chose them.
  if (sources.length < ids.length)
    throw new Problem('not_found', `a package is gone from ${from.distribution.codename}`)
  const inputs = new Map<number, Input>()
  for (const source of sources) inputs.set(source.id, await inputOf(deps, source, from, to, meta))
  const ensureBytes = async () => {
    for (const { ensureBytes: ensure } of inputs.values()) await ensure()
  }
  return withBytes(db, ensureBytes, (seen) =>
    transaction(db, async (tx) => {
      await lockDistributions(tx, [from.distribution.codename, to.distribution.codename])
      const { fresh, present } = await sortOut(tx, await sourcesStillPublished(tx, ids, sources), to)
      const decisions = await activeDecisions(tx, ids)
      const rows =
        fresh.length === 0
          ? []
          : await insertTogether(
              tx,
              deps.audit,
              to,
              fresh.map(({ id }) => (inputs.get(id) as Input).record(decisions.get(id) ?? [])),
              seen,
            )
      // Refused bytes belong in quarantine. They also stay in the pool where the source needs them.
      const refused = rows
        .filter(({ status }) => isRefused(status))
        .map(({ sha256 }) => ({ kind: 'file', key: sha256 }) as const)
      if (refused.length > 0) await tx.insertInto('pending_deletions').values(refused).execute()
      await copyEvidence(
        tx,
        fresh.map(({ id }, i) => ({ from: id, to: (rows[i] as PackageRow).id })),
      )
      for (const [i, source] of fresh.entries()) {
        const row = rows[i] as PackageRow
        for (const decision of [...(decisions.get(source.id) ?? [])].reverse())
          await restoreDecision(tx, row, { ...decision, distribution: row.distribution })
      }
      return [
        ...fresh.map((source, i) => ({ source, row: rows[i] as PackageRow })),
        ...present.map((source) => ({ source, row: null })),
      ]
    }),
  )
}

/** Reads the sources again under the locks: they may have been quarantined or deleted since. */
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

/** Sorts the records into those that the target has already and those that it may take. */
async function sortOut(
  tx: Db,
  sources: readonly PackageRow[],
  to: Placed,
): Promise<{ fresh: PackageRow[]; present: PackageRow[] }> {
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
  const present: PackageRow[] = []
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
      present.push(source)
    }
  }
  return { fresh, present }
}

interface Input extends Pick<NewRecord, 'ensureBytes'> {
  /** @param decisions in force for the source, and so for the copy */
  record(decisions: readonly ActiveDecision[]): NewRecord
}

const COPY: Subject = { ...ARRIVING, isCopy: true }

/** The new record; reads and renders everything that it can before the transaction. */
async function inputOf(
  { db, clock, pool, settings, evidenceThere }: CopyDeps,
  source: PackageRow,
  from: Placed,
  to: Placed,
  meta: CopyMeta,
): Promise<Input> {
  requirePublished(source)
  const blob = await insertableBlob(db, source.sha256)
  if (!blob) throw new Problem('not_found', `the file of ${source.name} ${source.version} is gone`)
  const facts = unpackFacts(blob)
  requireFitting(facts, to)
  if (meta.scopes) requireWithin(meta.scopes, to, facts)
  const imported_at = clock.now()
  // A migration copies all packages of the source, so their dependencies on each other count as satisfied.
  const alongside = meta.method === 'migration' ? [from.distribution.codename] : []
  const missing = (await missingIn(db, facts, to, alongside)).map((requirement) => requirement.text)
  const there = await evidenceThere(source, to.distribution)
  const evidence = { ...there, checks: [...there.checks, seenMissing(missing, to.distribution.codename)] }
  const entries = await renderNew({ imported_at }, blob, facts, to)
  const { format, sha256, filename } = source
  const ensureBytes = async () => {
    if (await pool.has({ format, sha256, filename })) return
    throw new Problem('not_found', `the file of ${source.name} ${source.version} is gone`)
  }
  return {
    ensureBytes,
    record(decisions) {
      const decision = decide(settings(), COPY, evidence, decisions, imported_at)
      const record = copiedRecord(source, decision, missing, to.distribution.codename, meta, imported_at)
      const { name, version, arch } = source
      return {
        ...{ blob, entries, ensureBytes, record, evidence: evidence.checks },
        review: reviewOf(meta.method, decision.status, imported_at),
        audit: {
          ...namesOf({ name, version, arch, distribution: to.distribution.codename }),
          action: meta.method === 'promotion' ? 'PROMOTE' : 'MIGRATE',
          result: RESULTS[decision.status],
          user: meta.importedBy,
          outcome: decision.status,
          detail: `from ${source.distribution}`,
          ip: meta.origin.ip,
          requestId: meta.origin.requestId,
          extra: { sha256, from: source.distribution },
        },
      }
    },
  }
}
