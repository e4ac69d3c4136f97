// When a review must be decided: entry plus the policy's days for the worst severity (decisions, section 9). Pure.
import type { PolicyAction, Severity } from './finding.ts'

/** The keys of `cve_policy` that this reads. */
export interface ReviewDays {
  readonly sla_critical_days: number
  readonly sla_high_days: number
  readonly sla_medium_days: number
}

const DAY_MS = 86_400_000

/** Null: a severity without a deadline. */
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
 * @param open what there is to decide; the strictest of their deadlines counts
 * @param unscanned a scan could not be made: as urgent as a high finding
 * @returns null when nothing among it has a deadline
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

/** Whether the policy asks for a person. Outside the first scan of an arrival, `block` means the same (rule 1). */
export function asksForReview({ action }: { action: PolicyAction }): boolean {
  return action === 'block' || action === 'review'
}

/** What has to be decided: findings that ask for review and that no decision covers. */
export function openFindings<T extends { action: PolicyAction; accepted_by_decision: boolean }>(
  findings: readonly T[],
): T[] {
  return findings.filter((finding) => asksForReview(finding) && !finding.accepted_by_decision)
}
