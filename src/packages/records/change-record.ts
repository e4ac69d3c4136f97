// Changes a record in the caller's transaction: status, findings, index entries, counters and audit together.
import type { Insertable } from 'kysely'
import type { AuditEvent } from '../../domain/audit.ts'
import type { Finding } from '../../domain/finding.ts'
import { GRACE_MS } from '../../domain/grace.ts'
import { Problem } from '../../domain/problem.ts'
import { isRefused, servedAfter, transitionOf, type StatusEvent } from '../../domain/transitions.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { blobOf } from '../../store/files/blob-query.ts'
import { tally } from './counters.ts'
import { recordsOf } from '../../store/records/artifact-query.ts'
import { storeFindings } from './findings.ts'
import type { PackageRow, PackagesTable, ReviewsTable } from '../../store/tables.ts'
import { refreshArtifact } from './artifacts.ts'
import type { Placed } from '../../formats/intake-format.ts'
import { lockAndAdvance } from './distribution-row.ts'
import { renderEntries, type Rendered } from './entries.ts'
import { lockDistributions } from './lock-order.ts'
import { noteRefusal, offer, replaceOffer, unpublish } from './offering.ts'

type Settable = Omit<
  Insertable<PackagesTable>,
  'status' | 'changes' | 'manifest_changes' | 'cve_results' | 'severities' | 'risk'
>
type ReviewSettable = Omit<Insertable<ReviewsTable>, 'package_id'>

/** A change of a record. `domain/transitions` gives its new status and whether it is offered. */
export interface Change {
  event: StatusEvent
  /** its new findings; left out: unchanged */
  findings?: Finding[]
  set?: Partial<Settable>
  /** changed values of its review */
  review?: ReviewSettable
  audit?: AuditEvent
  /** its entries from `renderAhead`; ignored if the record has another file by now */
  rendered?: Rendered | null
}

export interface Changed {
  before: PackageRow
  row: PackageRow
}

/**
 * Locks a record's distribution, and with it every record in it, until the transaction ends. A transaction on several
 * records calls `lockRecords` first.
 * @throws Problem('not_found') when it is gone
 */
export async function lockRecord(tx: Db, id: number): Promise<PackageRow> {
  const row = await lockIfThere(tx, id)
  if (!row) throw new Problem('not_found', 'the package is gone')
  return row
}

/** Like `lockRecord`, but null when it is gone. */
export async function lockIfThere(tx: Db, id: number): Promise<PackageRow | null> {
  const place = await tx.selectFrom('packages').select('distribution').where('id', '=', id).executeTakeFirst()
  if (!place) return null
  await lockDistributions(tx, [place.distribution])
  const [row] = await recordsOf(tx, [id])
  return row ?? null
}

/**
 * Changes a record inside the caller's transaction.
 * @param before as returned by `lockRecord` in this transaction
 * @throws Problem('not_under_review') with `current_status` when the status does not allow the event
 */
export async function changeRecord(
  tx: Db,
  audit: AuditLog,
  before: PackageRow,
  change: Change,
  { format, distribution }: Placed,
): Promise<Changed> {
  const transition = transitionOf(before.status, change.event)
  if (!transition || transition.to === 'absent') throw notUnderReview(before)
  const status = transition.to
  const served = servedAfter(transition, before.served)
  const offering = served !== before.served
  // Clients are offered the new file instead of the old one, which clients with an older index may still fetch.
  const replacing = served && before.served && (change.set?.sha256 ?? before.sha256) !== before.sha256
  await tally(tx, [before.id], -1)
  const revision = await lockAndAdvance(tx, before.distribution, {
    offers: Number(offering || replacing),
    counts: before.status === status ? {} : { [before.status]: -1, [status]: 1 },
    bytes: await growthOf(tx, before, change),
  })
  await tx
    .updateTable('packages')
    .set((eb) => ({
      ...change.set,
      ...(change.findings ? { cve_results: JSON.stringify(change.findings) } : {}),
      status,
      changes: eb('changes', '+', 1),
    }))
    .where('id', '=', before.id)
    .execute()
  if (change.review && Object.keys(change.review).length > 0) await storeReview(tx, before.id, change.review)
  if (change.findings) await storeFindings(tx, before, change.findings, before.severities)
  if (served && (offering || replacing)) {
    const sha256 = change.set?.sha256 ?? before.sha256
    const ahead = change.rendered?.sha256 === sha256 ? change.rendered.entries : null
    const entries = ahead ?? renderEntries(before, await blobOf(tx, sha256), { format, distribution })
    const begins = { id: before.id, revision, cause: change.event, entries }
    await (replacing ? replaceOffer(tx, begins, GRACE_MS) : offer(tx, [begins]))
  }
  // The file of a package that a person unpublishes must be deleted as soon as no index lists it, without grace time.
  if (offering && !served) await unpublish(tx, before.id, revision, change.event)
  if (isRefused(before.status) !== isRefused(status)) {
    await noteRefusal(tx, before.id, status)
    await tx.insertInto('pending_deletions').values({ kind: 'file', key: before.sha256 }).execute()
  }
  await tally(tx, [before.id], 1)
  const row = await lockRecord(tx, before.id)
  if (before.status !== status) await refreshArtifact(tx, format.versions, row.format, row.name)
  if (change.audit) await audit.record(change.audit, tx)
  return { before, row }
}

/** Bytes by which the distribution grows when the record gets another file: a copy with our signature. */
async function growthOf(tx: Db, before: PackageRow, { set }: Change): Promise<number> {
  if (set?.sha256 === undefined || set.sha256 === before.sha256) return 0
  const { size_bytes: size } = await tx
    .selectFrom('blobs')
    .select('size_bytes')
    .where('sha256', '=', set.sha256)
    .executeTakeFirstOrThrow()
  return size - before.size_bytes
}

/** Notes that the manifests of records are outdated, after a change beside the record's row. */
export async function noteChanged(tx: Db, ids: readonly number[]): Promise<void> {
  await tx
    .updateTable('packages')
    .set((eb) => ({ changes: eb('changes', '+', 1) }))
    .where('id', 'in', ids)
    .execute()
}

async function storeReview(tx: Db, id: number, review: ReviewSettable): Promise<void> {
  await tx
    .insertInto('reviews')
    .values({ ...review, package_id: id })
    .onConflict((c) => c.column('package_id').doUpdateSet(review))
    .execute()
}

export function notUnderReview(row: Pick<PackageRow, 'name' | 'version' | 'distribution' | 'status'>): Problem {
  return new Problem('not_under_review', `${row.name} ${row.version} in ${row.distribution} is ${row.status}`, {
    current_status: row.status,
  })
}
