// The review room as one part: every way in which people, and what looks at packages later, change where a package stands.
import type { Finding } from '../domain/finding.ts'
import type { Changed } from '../records/change-record.ts'
import type { RecordSelector } from '../store/records/artifact-query.ts'
import type { DecisionRow } from '../store/tables.ts'
import { applyFindings, reviseFindings, type Applied, type Look } from './apply.ts'
import { decide, type Decided } from './decide.ts'
import { assignDecision, replaceDecision, resolveDecision, withdrawDecision } from './decisions.ts'
import type { Seen } from './merge.ts'
import type { Actor, ReviewParts } from './parts.ts'
import type { DecisionBody } from './plan.ts'
import { quarantine } from './quarantine.ts'
import { rescan, type Libraries, type Rescanned } from './rescan.ts'
import { checkSla, type SlaReport } from './sla.ts'

/** Each function is told of where it is written. */
export interface Review {
  decide(selector: RecordSelector, body: DecisionBody, actor: Actor): Promise<Decided[]>
  quarantine(selector: RecordSelector, reason: string | null, actor: Actor): Promise<Changed[]>
  rescan(selector: RecordSelector, actor: Actor): Promise<Rescanned[]>
  applyFindings(packageId: number, seen: Seen, look: Look, actor: Actor): Promise<Applied>
  reviseFindings(
    packageId: number,
    revise: (known: readonly Finding[]) => Finding[],
    look: Look,
    actor: Actor,
  ): Promise<Applied>
  checkSla(actor: Actor): Promise<SlaReport>
  replaceDecision(id: number, body: DecisionBody, actor: Actor): Promise<DecisionRow>
  withdrawDecision(id: number, note: string | null, actor: Actor): Promise<DecisionRow>
  resolveDecision(packageIds: readonly number[], note: string, actor: Actor): Promise<DecisionRow>
  assignDecision(id: number, to: string | null, actor: Actor): Promise<DecisionRow>
}

/**
 * @param options.stepTimeoutMs how long a step of a rescan may take
 * @param options.libraries looks again at what lies inside a package
 */
export function createReview(
  parts: ReviewParts,
  options: { stepTimeoutMs?: number; libraries?: Libraries } = {},
): Review {
  return {
    decide: (...call) => decide(parts, ...call),
    quarantine: (...call) => quarantine(parts, ...call),
    rescan: (selector, actor) => rescan(parts, selector, actor, options),
    applyFindings: (...call) => applyFindings(parts, ...call),
    reviseFindings: (...call) => reviseFindings(parts, ...call),
    checkSla: (actor) => checkSla(parts, actor),
    replaceDecision: (...call) => replaceDecision(parts, ...call),
    withdrawDecision: (...call) => withdrawDecision(parts, ...call),
    resolveDecision: (...call) => resolveDecision(parts, ...call),
    assignDecision: (...call) => assignDecision(parts, ...call),
  }
}
