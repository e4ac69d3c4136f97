// The review room as one object: every way in which people, and later checks, change the status of a package.
import type { Changed } from '../packages/records/change-record.ts'
import type { RecordSelector } from '../store/records/artifact-query.ts'
import type { DecisionRow } from '../store/tables.ts'
import { assignDecision, assignHeld } from './assign.ts'
import { decideSeveral, type DecidedItem } from './decide-several.ts'
import type { Decided } from './decide-one.ts'
import { decide, type Looked } from './decide.ts'
import { replaceDecision, resolveDecision, revokeDecision } from './decisions.ts'
import type { Actor, ReviewDeps } from './deps.ts'
import type { Check } from './lock-decision.ts'
import type { DecisionBody } from './plan.ts'
import { lookAt } from './onlookers.ts'
import { quarantine } from './quarantine.ts'
import { rescan, type RescanOptions, type Rescanned } from './rescan.ts'
import { checkSla, type SlaReport } from './check-deadlines.ts'
import { undoDecisions, type UndoneItem } from './undo.ts'

/** The functions are documented where they are defined. */
export interface Review {
  decide(selector: Looked, body: DecisionBody, actor: Actor): Promise<Decided[]>
  decideSeveral(
    selectors: readonly Looked[],
    body: DecisionBody,
    actor: Actor,
    options: { dryRun: boolean },
  ): Promise<DecidedItem[]>
  undoDecisions(ids: readonly number[], actor: Actor): Promise<UndoneItem[]>
  lookAt(packageId: number, username: string): Promise<string[]>
  quarantine(selector: RecordSelector, reason: string | null, actor: Actor): Promise<Changed[]>
  rescan(selector: RecordSelector, actor: Actor): Promise<Rescanned[]>
  checkSla(actor: Actor, signal?: AbortSignal): Promise<SlaReport>
  replaceDecision(id: number, body: DecisionBody, actor: Actor, check?: Check): Promise<DecisionRow>
  revokeDecision(id: number, note: string | null, actor: Actor, check?: Check): Promise<DecisionRow>
  resolveDecision(packageIds: readonly number[], note: string, actor: Actor): Promise<DecisionRow>
  assignDecision(id: number, to: string | null, actor: Actor, check?: Check): Promise<DecisionRow>
  assignHeld(selector: RecordSelector, to: string | null, actor: Actor): ReturnType<typeof assignHeld>
}

export function createReview(deps: ReviewDeps, options: RescanOptions = {}): Review {
  return {
    decide: (selector, body, actor) => decide(deps, selector, body, actor),
    decideSeveral: (selectors, body, actor, options) => decideSeveral(deps, selectors, body, actor, options),
    undoDecisions: (ids, actor) => undoDecisions(deps, ids, actor),
    lookAt: (packageId, username) => lookAt(deps.db, packageId, username, deps.clock.now()),
    quarantine: (selector, reason, actor) => quarantine(deps, selector, reason, actor),
    rescan: (selector, actor) => rescan(deps, selector, actor, options),
    checkSla: (actor, signal) => checkSla(deps, actor, signal),
    replaceDecision: (id, body, actor, check) => replaceDecision(deps, id, body, actor, check),
    revokeDecision: (id, note, actor, check) => revokeDecision(deps, id, note, actor, check),
    resolveDecision: (packageIds, note, actor) => resolveDecision(deps, packageIds, note, actor),
    assignDecision: (id, to, actor, check) => assignDecision(deps, id, to, actor, check),
    assignHeld: (selector, to, actor) => assignHeld(deps, selector, to, actor),
  }
}
