// Which findings a decision covers, and which findings a person has to be asked about. Pure.
import type { Finding, Severity } from './finding.ts'
import { asksForReview } from './review-due.ts'
import { severityRank } from './risk.ts'

/** A finding that has to be decided, and why. */
export interface ReviewReason {
  id: string
  reason: 'new' | 'severity_raised' | 'known_exploited'
  severity: Severity
}

/** A finding as it was when the decision covered it: one that got worse needs a new decision. */
export interface CoveredFinding {
  id: string
  severity: Severity
  in_kev: boolean
}

/** The part of a decision that says which findings it accepts. */
export interface ActiveDecision {
  decision: 'approve' | 'reject' | null
  covers: readonly CoveredFinding[]
}

type Facts = Pick<Finding, 'id' | 'severity' | 'in_kev'>

/** A finding as a decision remembers it. */
export function coverOf(finding: Facts): CoveredFinding {
  return { id: finding.id, severity: finding.severity, in_kev: finding.in_kev }
}

/** In which way a finding became worse; null when it did not. */
function worsened(then: Facts, now: Facts): 'severity_raised' | 'known_exploited' | null {
  if (now.in_kev && !then.in_kev) return 'known_exploited'
  return severityRank(now.severity) > severityRank(then.severity) ? 'severity_raised' : null
}

/** Whether a decision in force accepts the finding as it is now. */
export function isCovered(finding: Facts, standing: readonly ActiveDecision[]): boolean {
  return standing.some(
    ({ decision, covers }) =>
      decision === 'approve' && covers.some((cover) => cover.id === finding.id && worsened(cover, finding) === null),
  )
}

export function withAcceptance(findings: readonly Finding[], standing: readonly ActiveDecision[]): Finding[] {
  return findings.map((finding) => ({ ...finding, accepted_by_decision: isCovered(finding, standing) }))
}

/**
 * The findings a person has to be asked about after a scan: those that the policy sends to review, that no decision in
 * force covers, and that are new or worse than before. A known finding is not asked about again when the policy changes.
 */
export function reasonsToAsk(
  before: readonly Finding[],
  after: readonly Finding[],
  standing: readonly ActiveDecision[],
): ReviewReason[] {
  const known = new Map<string, Facts>(before.map((finding) => [finding.id, finding]))
  const decided = new Map(
    standing.flatMap(({ decision, covers }) =>
      decision === 'approve' ? covers.map((cover) => [cover.id, cover] as const) : [],
    ),
  )
  return after.flatMap((finding): ReviewReason[] => {
    if (!asksForReview(finding) || isCovered(finding, standing)) return []
    const then = decided.get(finding.id) ?? known.get(finding.id)
    const reason = then ? worsened(then, finding) : 'new'
    return reason === null ? [] : [{ id: finding.id, reason, severity: finding.severity }]
  })
}
