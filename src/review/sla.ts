// Deadlines: how clients see them, and what happens when one passes. A passed deadline never changes what is served.
import { sql } from 'kysely'
import { DAY_MS } from '../domain/durations.ts'
import type { Finding } from '../domain/finding.ts'
import { openFindings, reviewDueAt } from '../domain/review-due.ts'
import { isoTimeOrNull } from '../kernel/clock.ts'
import { changeRecord, lockIfThere, type Changed, noteChanged } from '../packages/records/change-record.ts'
import { activeDecisions, closeDecisions } from '../packages/records/decisions.ts'
import type { DecisionRow, PackageRow } from '../store/tables.ts'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'
import { recordsOf } from '../store/records/artifact-query.ts'
import { withAcceptance } from '../domain/acceptance.ts'
import { eventBase, type Actor, type ReviewDeps, NO_REVIEW } from './deps.ts'
import { announce, cleanUp, type CleanUpDeps } from './settle.ts'

export type SlaDeps = CleanUpDeps & Pick<ReviewDeps, 'db' | 'clock' | 'audit' | 'settings' | 'offered'>

const WARNING_DAYS = 7
const BATCH = 200
/** Most items in a list of the report; the counts are complete. */
const LISTED = 200

/** The deadline of a review or of an exception (docs/api-decisions.md, section 9). */
export interface Sla {
  has_sla: boolean
  expires_at: string | null
  remaining_days: number | null
  days_remaining: number | null
  expired: boolean
  warning: boolean
  status: 'permanent' | 'active' | 'expiring_soon' | 'expired'
}

export function slaOf(due: Date | null, now: Date): Sla {
  if (due === null)
    return {
      has_sla: false,
      expires_at: null,
      remaining_days: null,
      days_remaining: null,
      expired: false,
      warning: false,
      status: 'permanent',
    }
  const left = due.getTime() - now.getTime()
  // A day that has begun counts as a whole one. Adding 0 turns -0 into 0.
  const days = Math.ceil(left / DAY_MS) + 0
  const expired = left <= 0
  const warning = !expired && days <= WARNING_DAYS
  return {
    has_sla: true,
    expires_at: isoTimeOrNull(due),
    remaining_days: days,
    days_remaining: days,
    expired,
    warning,
    status: expired ? 'expired' : warning ? 'expiring_soon' : 'active',
  }
}

/** The deadline of a record: that of its review, else the earliest of its exceptions; null when it has neither. */
export function slaOfRecord(
  row: Pick<PackageRow, 'status' | 'review_due_at'>,
  standing: readonly DecisionRow[],
  now: Date,
): Sla | null {
  if (row.status === 'pending_review') return slaOf(row.review_due_at, now)
  const ends = standing.flatMap((decision) => decision.expires_at ?? []).sort((a, b) => a.getTime() - b.getTime())
  return ends[0] || standing.length > 0 ? slaOf(ends[0] ?? null, now) : null
}

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
export async function checkSla(deps: SlaDeps, actor: Actor, signal?: AbortSignal): Promise<SlaReport> {
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
async function recordExpiring(deps: SlaDeps, items: readonly SlaItem[]): Promise<void> {
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

async function endExceptions(deps: SlaDeps, actor: Actor, now: Date, signal?: AbortSignal): Promise<DecisionRow[]> {
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
      if (await endDecision(deps, decision, 'expire', { actor, note: 'the exception expired', action: 'SLA_EXPIRED' }))
        ended.push(decision)
    }
    if (due.length < BATCH) return ended
  }
}

export interface Ending {
  actor: Actor
  note: string
  action: 'SLA_EXPIRED' | 'DECISION_RESOLVED'
}

/**
 * Ends one decision. Its findings are open again: a published package goes back to review and stays served.
 * @returns the change; null when the decision had ended already or its record is gone
 */
export async function endDecision(
  deps: SlaDeps,
  decision: DecisionRow,
  event: 'expire' | 'revoke',
  ending: Ending,
): Promise<Changed | null> {
  const now = deps.clock.now()
  const changed = await transaction(deps.db, async (tx) => {
    const before = decision.package_id === null ? null : await lockIfThere(tx, decision.package_id)
    const still = await tx
      .selectFrom('decisions')
      .select('id')
      .where('id', '=', decision.id)
      .where('active', '=', true)
      .executeTakeFirst()
    if (!still) return null
    await closeDecisions(tx, [decision.id], { at: now, by: ending.actor.name, note: ending.note })
    if (!before) return null
    const standing = (await activeDecisions(tx, [before.id])).get(before.id) ?? []
    const findings = withAcceptance((before.cve_results ?? []) as Finding[], standing)
    const returns = before.status === 'published' && decision.decision === 'approve'
    const why = event === 'expire' ? ('decision_expired' as const) : ('decision_withdrawn' as const)
    const due = reviewDueAt(
      now,
      openFindings(findings),
      openFindings(findings).length === 0,
      deps.settings().cve_policy,
    )
    const held = { cve_status: 'pending_review' as const, held_reason: why, review_due_at: due }
    return changeRecord(
      tx,
      deps.audit,
      before,
      {
        event: returns ? event : 'refresh',
        findings,
        set: returns ? held : {},
        review: returns ? { ...NO_REVIEW, review_origin: why, review_since: now } : {},
        audit: {
          ...eventBase(before, ending.actor),
          action: ending.action,
          result: 'WARNING',
          outcome: returns ? 'pending_review' : before.status,
          detail: ending.note,
          extra: { decision_id: decision.id, action: decision.action, expires_at: decision.expires_at },
        },
      },
      deps.offered(before.distribution),
    )
  })
  if (!changed) return null
  await cleanUp(deps, [changed])
  announce(deps, [changed])
  return changed
}

/** Marks overdue reviews and audits each of them once. */
async function noteOverdue(deps: SlaDeps, actor: Actor, now: Date, signal?: AbortSignal): Promise<PackageRow[]> {
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
