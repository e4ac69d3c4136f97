// The transaction that inserts records which arrive together in one distribution, and updates everything that depends on them.
import type { Insertable } from 'kysely'
import type { AuditEvent } from '../../domain/audit.ts'
import type { Seen } from '../../domain/evidence.ts'
import { Problem } from '../../domain/problem.ts'
import type { PackageStatus } from '../../domain/status.ts'
import type { Placed } from '../../formats/intake-format.ts'
import { asError } from '../../kernel/errors.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'
import { ensured, insertBlobs, withBytes, type SeenRemovals } from '../../store/files/with-bytes.ts'
import { insertEvidence } from './evidence.ts'
import { findingsOf, storeFindings } from './findings.ts'
import { tally } from './counters.ts'
import type { StreamEntry } from '../../store/records/entry-pieces.ts'
import { recordsOf } from '../../store/records/artifact-query.ts'
import type { BlobsTable, PackageRow, PackagesTable, ReviewsTable } from '../../store/tables.ts'
import { noteArtifacts } from './artifacts.ts'
import { lockAndAdvance } from './distribution-row.ts'
import { offer } from './offering.ts'

export interface NewRecord {
  /** without the columns that this room counts */
  record: Omit<Insertable<PackagesTable>, 'changes' | 'manifest_changes'> & { imported_at: Date }
  /** null for a record that needs no person */
  review: Omit<Insertable<ReviewsTable>, 'package_id'> | null
  blob: Insertable<BlobsTable>
  /** of a published record; rendered before the transaction, because a large one needs a thread */
  entries: readonly StreamEntry[]
  audit: AuditEvent
  /** the evidence of the checks */
  evidence: readonly Seen[]
  /** Stores the bytes durably unless they are stored already. Called outside transactions, possibly more than once. */
  ensureBytes(): Promise<void>
}

/**
 * Inserts records of one distribution; published ones are offered. They share a transaction, which takes ten round trips
 * for any number of records. When one of them makes it fail, each is tried alone.
 * @returns for each its row or its error: Problem('duplicate_conflict') when name, version and architecture exist there
 */
export async function insertRecords(
  db: Db,
  audit: AuditLog,
  offered: Placed,
  inputs: readonly NewRecord[],
): Promise<(PackageRow | Error)[]> {
  const failures = await Promise.all(inputs.map(({ ensureBytes }) => ensured(ensureBytes).then(() => null, asError)))
  const ready = inputs.filter((_, i) => failures[i] === null)
  const inserted = await insertReady(db, audit, offered, ready)
  return inputs.map((input, i) => failures[i] ?? (inserted[ready.indexOf(input)] as PackageRow | Error))
}

async function insertReady(
  db: Db,
  audit: AuditLog,
  offered: Placed,
  ready: readonly NewRecord[],
): Promise<(PackageRow | Error)[]> {
  if (ready.length === 0) return []
  const ensureAll = async () => {
    await Promise.all(ready.map((input) => input.ensureBytes()))
  }
  try {
    return await withBytes(db, ensureAll, (seen) =>
      transaction(db, (tx) => insertTogether(tx, audit, offered, ready, seen)),
    )
  } catch (error) {
    if (ready.length === 1 || !belongsToOneRecord(error)) return ready.map(() => asError(error))
  }
  const outcomes: (PackageRow | Error)[] = []
  for (const one of ready) outcomes.push(...(await insertReady(db, audit, offered, [one])))
  return outcomes
}

/**
 * Whether other records of the transaction may succeed without the one that failed: a name that is taken, or values that
 * the database refuses (SQLSTATE classes 22, 23, 54). A database that is full or does not answer fails for each of them.
 */
export function belongsToOneRecord(error: unknown): boolean {
  if (error instanceof Problem) return error.code !== 'database_busy'
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^(22|23|54)[0-9A-Z]{3}$/.test(code)
}

/**
 * Inserts records in the caller's transaction: all or none.
 * @throws Problem('duplicate_conflict') when one of them exists; BytesRemoved, which `withBytes` handles
 */
export async function insertTogether(
  tx: Db,
  audit: AuditLog,
  { format, distribution }: Placed,
  ready: readonly NewRecord[],
  seen: SeenRemovals,
): Promise<PackageRow[]> {
  const records = ready.map(({ record }) => record)
  const counts: Partial<Record<PackageStatus, number>> = {}
  for (const { status } of records) counts[status] = (counts[status] ?? 0) + 1
  const offers = counts.published ?? 0
  const revision = await lockAndAdvance(tx, distribution.codename, {
    offers,
    counts,
    bytes: ready.reduce((sum, { blob }) => sum + blob.size_bytes, 0),
  })
  await insertBlobs(
    tx,
    ready.map(({ blob }) => blob),
    seen,
  )
  const inserted = await tx
    .insertInto('packages')
    .values(records)
    .onConflict((c) => c.columns(['distribution', 'name', 'version', 'arch']).doNothing())
    .returning(['id', 'name', 'version', 'arch'])
    .execute()
  if (inserted.length < ready.length) {
    const { name, version, arch } = records[0] as NewRecord['record']
    throw new Problem('duplicate_conflict', `${name} ${version} (${arch}) is already in ${distribution.codename}`)
  }
  const byIdentity = new Map(inserted.map((row) => [identityOf(row), row.id]))
  const ids = records.map((record) => byIdentity.get(identityOf(record)) as number)
  const reviews = ready.flatMap(({ review }, i) => (review ? [{ ...review, package_id: ids[i] as number }] : []))
  if (reviews.length > 0) await tx.insertInto('reviews').values(reviews).execute()
  await offerPublished(tx, ready, ids, revision - offers)
  const rows = await recordsOf(tx, ids)
  for (const row of rows) await storeFindings(tx, row, findingsOf(row), 0)
  const [{ record: first }] = ready as [NewRecord]
  const judged = ready.map(({ record, evidence }, i) => ({
    record: { ...record, id: ids[i] as number },
    seen: evidence,
  }))
  await insertEvidence(tx, judged, first.imported_at)
  await tally(tx, ids, 1)
  await noteArtifacts(tx, format.versions, rows)
  await audit.record(
    ready.map((input) => input.audit),
    tx,
  )
  return rows
}

/** @param before the last revision used by others: each of these records gets a revision after it */
async function offerPublished(
  tx: Db,
  ready: readonly NewRecord[],
  ids: readonly number[],
  before: number,
): Promise<void> {
  const published = ready.flatMap(({ record, entries }, i) =>
    record.status === 'published' ? [{ id: ids[i] as number, entries, cause: record.import_method }] : [],
  )
  if (published.length === 0) return
  await offer(
    tx,
    published.map((one, n) => ({ ...one, revision: before + n + 1 })),
  )
}

const identityOf = (record: { name: string; version: string; arch: string }) =>
  JSON.stringify([record.name, record.version, record.arch])
