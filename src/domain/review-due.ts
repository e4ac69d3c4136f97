// When a review must be decided: entry plus the policy's days for the worst severity (docs/api-decisions.md, section 9). Pure.
import { DAY_MS } from './durations.ts'
import type { PolicyAction, Severity } from './finding.ts'

/** The keys of `cve_policy` with deadlines, in days. */
export interface ReviewDays {
  readonly sla_critical_days: number
  readonly sla_high_days: number
  readonly sla_medium_days: number
}

/** @returns null for a severity without a deadline */
export function reviewDays(days: ReviewDays, severity: Severity): number | null {
  switch (severity) {
    case 'Critical':
      return days.sla_critical_days
    case 'High':
      return days.sla_high_days
    case 'Medium':
      return days.sla_medium_days
    default:
      return null
  }
}

/**
 * @param open findings to decide; the earliest of their deadlines counts
 * @param unscanned whether a scan could not be made, which is as urgent as a high finding
 * @returns null when none of them has a deadline
 */
export function reviewDueAt(
  since: Date,
  open: readonly { severity: Severity }[],
  unscanned: boolean,
  days: ReviewDays,
): Date | null {
  const severities: Severity[] = [...open.map((finding) => finding.severity), ...(unscanned ? ['High' as const] : [])]
  const allowed = severities.flatMap((severity) => reviewDays(days, severity) ?? [])
  return allowed.length === 0 ? null : new Date(since.getTime() + Math.min(...allowed) * DAY_MS)
}

/** Whether the policy wants a person to decide. After the first scan `block` counts as `review`. */
export function asksForReview({ action }: { action: PolicyAction }): boolean {
  return action === 'block' || action === 'review'
}

/** Findings that need a decision: the policy wants a review and no decision covers them. */
export function openFindings<T extends { action: PolicyAction; accepted_by_decision: boolean }>(
  findings: readonly T[],
): T[] {
  return findings.filter((finding) => asksForReview(finding) && !finding.accepted_by_decision)
}
