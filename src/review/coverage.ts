// Which findings a decision speaks for, and which of them have to be asked about again. Pure.
import type { Finding } from '../domain/finding.ts'
import { severityRank } from '../domain/risk.ts'
import { asksForReview } from '../domain/review-due.ts'
import type { CoveredFinding, ReviewReason } from '../store/tables.ts'

/** As much of a decision as says what it lets pass. */
export interface Standing {
  decision: 'approve' | 'reject' | null
  covers: readonly CoveredFinding[]
}

type Facts = Pick<Finding, 'id' | 'severity' | 'in_kev'>

/** What a finding is, at the moment somebody decides. */
export function coverOf(finding: Facts): CoveredFinding {
  return { id: finding.id, severity: finding.severity, in_kev: finding.in_kev }
}

/** What became worse; null when nothing did. */
function worsened(then: Facts, now: Facts): 'severity_raised' | 'known_exploited' | null {
  if (now.in_kev && !then.in_kev) return 'known_exploited'
  return severityRank(now.severity) > severityRank(then.severity) ? 'severity_raised' : null
}

/** Whether a decision in force lets the finding pass as it is now. */
export function isCovered(finding: Facts, standing: readonly Standing[]): boolean {
  return standing.some(
    ({ decision, covers }) =>
      decision === 'approve' && covers.some((cover) => cover.id === finding.id && worsened(cover, finding) === null),
  )
}

export function withAcceptance(findings: readonly Finding[], standing: readonly Standing[]): Finding[] {
  return findings.map((finding) => ({ ...finding, accepted_by_decision: isCovered(finding, standing) }))
}

/**
 * What a person has to be asked about after a scan: findings that ask for review, that no decision in force covers, and
 * that are new or worse than they were. What was known and let pass is not asked again, whatever the policy says by now.
 */
export function reasonsToAsk(
  before: readonly Finding[],
  after: readonly Finding[],
  standing: readonly Standing[],
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
