// The decisions that apply to a finding, in the terms of VEX. Pure.
import type { Finding } from '../../domain/finding.ts'
import { asksForReview } from '../../domain/review-due.ts'
import type { PackageStatus } from '../../domain/status.ts'
import type { DecisionRow } from '../../store/tables.ts'

/** The newest decision in force that covers a finding. An approval given for a less severe finding does not cover it. */
export function decisionFor(finding: Finding, decisions: readonly DecisionRow[]): DecisionRow | null {
  const covering = decisions.filter((decision) => decision.covers.some((cover) => cover.id === finding.id))
  return covering.find((decision) => decision.decision !== 'approve' || finding.accepted_by_decision) ?? null
}

/** The decision as one sentence. */
export function sentenceOf(decision: DecisionRow): string {
  const { action, justification, expires_at: expiresAt, target_version: target } = decision
  switch (action) {
    case 'accept_risk':
      return `The risk was accepted: ${justification}`
    case 'exception':
      return `The risk was accepted until ${expiresAt?.toISOString().slice(0, 10) ?? 'further notice'}: ${justification}`
    case 'reject':
      return `The package was rejected, do not use it: ${justification}`
    case 'upgrade_required':
      return `Update to ${target ?? 'a newer version'}: ${justification}`
  }
}

/** CycloneDX 1.5, `vulnerabilities[].analysis`. Never `not_affected`: an accepted risk still exists. */
export function analysisOf(finding: Finding, status: PackageStatus, decisions: readonly DecisionRow[]) {
  const decision = decisionFor(finding, decisions)
  if (decision) {
    const response = { accept_risk: ['will_not_fix'], exception: [], reject: [], upgrade_required: ['update'] }[
      decision.action
    ]
    return {
      state: 'exploitable',
      ...(response.length > 0 ? { response } : {}),
      detail: sentenceOf(decision),
      firstIssued: decision.decided_at.toISOString(),
      lastUpdated: decision.decided_at.toISOString(),
    }
  }
  return status === 'pending_review' && asksForReview(finding) ? { state: 'in_triage', detail: 'Under review.' } : null
}
