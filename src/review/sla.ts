// Deadlines of reviews and of exceptions, as clients see them. Pure.
import { DAY_MS } from '../domain/durations.ts'
import { isoTimeOrNull } from '../kernel/clock.ts'
import type { DecisionRow, PackageRow } from '../store/tables.ts'

/** A deadline that is this near is reported. */
export const WARNING_DAYS = 7

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
