// What happens when a deadline passes: exceptions end, overdue reviews are noted. What is served stays the same.
import { sql } from 'kysely'
import { DAY_MS } from '../domain/durations.ts'
import { noteChanged } from '../packages/records/change-record.ts'
import type { DecisionRow, PackageRow } from '../store/tables.ts'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'
import { recordsOf } from '../store/records/artifact-query.ts'
import { eventBase, type Actor } from './deps.ts'
import { endDecision, type EndDeps } from './end-decision.ts'
import { slaOf, WARNING_DAYS, type Sla } from './sla.ts'

const BATCH = 200
/** Most items in a list of the report; the counts are complete. */
const LISTED = 200

export interface SlaItem {
  kind: 'review' | 'exception'
  package: string
  version: string
  distribution: string
  arch: string
  decision_id: number | null
  sla: Sla
}

export interface SlaReport {
  expired: number
  expiring_soon: number
  /** how many deadlines were reported for the first time */
  notified: number
  expired_list: SlaItem[]
  expiring_list: SlaItem[]
}

/**
 * Ends expired exceptions: their packages go back to review and stay served. Marks overdue reviews, once each.
 * The report lists the 200 most urgent items.
 * @param signal ends the check between two changes; changes already made stay
 */
export async function checkSla(deps: EndDeps, actor: Actor, signal?: AbortSignal): Promise<SlaReport> {
  const now = deps.clock.now()
  const ended = await endExceptions(deps, actor, now, signal)
  const overdue = await noteOverdue(deps, actor, now, signal)
  const soon = new Date(now.getTime() + WARNING_DAYS * DAY_MS)
  const reviews = (db: Db) =>
    db.selectFrom('records').where('status', '=', 'pending_review').where('review_due_at', 'is not', null)
  const exceptions = (db: Db) =>
    db.selectFrom('decisions').where('active', '=', true).where('expires_at', 'is not', null)
  const late = reviews(deps.db).where('review_due_at', '<=', now)
  const near = reviews(deps.db).where('review_due_at', '>', now).where('review_due_at', '<=', soon)
  const ending = exceptions(deps.db).where('expires_at', '>', now).where('expires_at', '<=', soon)
  const review = (row: PackageRow) => reviewItem(row, now)
  const lateRows = await late.selectAll().orderBy('review_due_at').limit(LISTED).execute()
  const nearRows = await near.selectAll().orderBy('review_due_at').limit(LISTED).execute()
  const endingRows = await ending.selectAll().orderBy('expires_at').limit(LISTED).execute()
  const expiredList = [...ended.map((decision) => exceptionItem(decision, now)), ...lateRows.map(review)].slice(
    0,
    LISTED,
  )
  const expiringList = [...nearRows.map(review), ...endingRows.map((decision) => exceptionItem(decision, now))]
    .sort((a, b) => ((a.sla.expires_at ?? '') < (b.sla.expires_at ?? '') ? -1 : 1))
    .slice(0, LISTED)
  await recordExpiring(deps, expiringList)
  const all = await countDeadlines(deps.db, now, soon)
  return {
    expired: all.late + ended.length,
    expiring_soon: all.near + all.ending,
    notified: ended.length + overdue.length,
    expired_list: expiredList,
    expiring_list: expiringList,
  }
}

async function countDeadlines(db: Db, now: Date, soon: Date): Promise<{ late: number; near: number; ending: number }> {
  const { rows } = await sql<{ late: number; near: number; ending: number }>`select
    (select count(*) from packages where status = 'pending_review' and review_due_at <= ${now})::int as late,
    (select count(*) from packages where status = 'pending_review' and review_due_at > ${now} and review_due_at <= ${soon})::int as near,
    (select count(*) from decisions where active and expires_at is not null and expires_at > ${now} and expires_at <= ${soon})::int as ending`.execute(
    db,
  )
  return rows[0] ?? { late: 0, near: 0, ending: 0 }
}

/** Notifications about deadlines within a week are made from this audit entry. */
async function recordExpiring(deps: EndDeps, items: readonly SlaItem[]): Promise<void> {
  if (items.length === 0) return
  await deps.audit.record({
    action: 'SLA_EXPIRING',
    result: 'WARNING',
    user: 'scheduler',
    outcome: 'expiring',
    detail: `${items.length} deadlines within a week`,
    extra: {
      items: items.map((item) => ({
        package: item.package,
        version: item.version,
        distribution: item.distribution,
        arch: item.arch,
        due_at: item.sla.expires_at ?? '',
      })),
    },
  })
}

async function endExceptions(deps: EndDeps, actor: Actor, now: Date, signal?: AbortSignal): Promise<DecisionRow[]> {
  const ended: DecisionRow[] = []
  for (;;) {
    const due = await deps.db
      .selectFrom('decisions')
      .selectAll()
      .where('active', '=', true)
      .where('expires_at', '<=', now)
      .orderBy('expires_at')
      .limit(BATCH)
      .execute()
    for (const decision of due) {
      signal?.throwIfAborted()
      if (
        await endDecision(deps, decision.id, 'expire', { actor, note: 'the exception expired', action: 'SLA_EXPIRED' })
      )
        ended.push(decision)
    }
    if (due.length < BATCH) return ended
  }
}

/** Marks overdue reviews and audits each of them once. */
async function noteOverdue(deps: EndDeps, actor: Actor, now: Date, signal?: AbortSignal): Promise<PackageRow[]> {
  const noted: PackageRow[] = []
  for (;;) {
    signal?.throwIfAborted()
    const rows = await transaction(deps.db, async (tx) => {
      const due = await tx
        .selectFrom('packages')
        .innerJoin('reviews', 'reviews.package_id', 'packages.id')
        .select('packages.id')
        .where('status', '=', 'pending_review')
        .where('review_due_at', '<=', now)
        .where('overdue_noted_at', 'is', null)
        .orderBy('packages.id')
        .limit(BATCH)
        .forUpdate('packages')
        .skipLocked()
        .execute()
      if (due.length === 0) return []
      const ids = due.map((row) => row.id)
      await tx.updateTable('reviews').set({ overdue_noted_at: now }).where('package_id', 'in', ids).execute()
      await noteChanged(tx, ids)
      const marked = await recordsOf(tx, ids)
      for (const row of marked) {
        const audit = {
          ...eventBase(row, actor),
          action: 'SLA_EXPIRED',
          result: 'WARNING' as const,
          outcome: 'overdue',
          detail: 'the review is overdue',
          extra: { due_at: row.review_due_at, held_reason: row.held_reason },
        }
        await deps.audit.record(audit, tx)
      }
      return marked
    })
    noted.push(...rows)
    if (rows.length < BATCH) return noted
  }
}

function reviewItem(row: PackageRow, now: Date): SlaItem {
  return {
    kind: 'review',
    package: row.name,
    version: row.version,
    distribution: row.distribution,
    arch: row.arch,
    decision_id: null,
    sla: slaOf(row.review_due_at, now),
  }
}

function exceptionItem(decision: DecisionRow, now: Date): SlaItem {
  return {
    kind: 'exception',
    package: decision.package,
    version: decision.version,
    distribution: decision.distribution,
    arch: decision.arch,
    decision_id: decision.id,
    sla: slaOf(decision.expires_at, now),
  }
}
