// One decision about one record, in the caller's transaction: its row, the findings it covers, the record's new status.
import { DAY_MS } from '../domain/durations.ts'
import type { Finding } from '../domain/finding.ts'
import { asksForReview, openFindings } from '../domain/review-due.ts'
import { invalidField, Problem } from '../domain/problem.ts'
import { publisherOfActor } from '../domain/publishers.ts'
import type { DecisionAction } from '../domain/status.ts'
import { transitionOf, type StatusEvent } from '../domain/transitions.ts'
import {
  changeRecord,
  lockRecord,
  notUnderReview,
  type Change,
  type Changed,
} from '../packages/records/change-record.ts'
import type { Rendered } from '../packages/records/entries.ts'
import { activeDecisions, closeDecisions, insertDecision, noteBefore } from '../packages/records/decisions.ts'
import type { DecisionRow, PackageRow } from '../store/tables.ts'
import type { Db } from '../store/db.ts'
import { coverOf, withAcceptance } from '../domain/acceptance.ts'
import { stateBefore } from './before.ts'
import { eventBase, NO_REVIEW, NOT_HELD, type Actor, type ReviewDeps } from './deps.ts'
import type { Plan } from './plan.ts'
import type { CleanUpDeps } from './settle.ts'

export type DecideDeps = CleanUpDeps &
  Pick<ReviewDeps, 'db' | 'clock' | 'audit' | 'checkpoint' | 'settings' | 'offered'>

export interface Decided extends Changed {
  decision: DecisionRow
}

export interface DecidedHere extends Decided {
  /** ids of the decisions that this one replaced */
  replaced: number[]
}

const EVENTS: Record<DecisionAction, StatusEvent> = {
  accept_risk: 'approve',
  exception: 'approve',
  reject: 'reject',
  upgrade_required: 'require_upgrade',
}
/** How long its maker can undo a decision: people have a minute after the last of thousands, which take minutes. */
export const UNDO_MS = 600_000
export const REPLACED = 'replaced by a later decision'

/** @param event by default the event of the plan's action; `refresh` when the decision replaces another one */
export async function decideOne(
  deps: DecideDeps,
  tx: Db,
  id: number,
  plan: Plan,
  actor: Actor,
  { event = EVENTS[plan.action], rendered }: { event?: StatusEvent; rendered?: Rendered | null } = {},
): Promise<DecidedHere> {
  const now = deps.clock.now()
  const before = await lockRecord(tx, id)
  const { status, covered, replaced, findings } = await foresee(deps, tx, before, plan, actor, event)
  await closeDecisions(tx, replaced, { at: now, by: actor.name, note: REPLACED })
  const decision = await insertDecision(tx, before, {
    decision: plan.decision,
    action: plan.action,
    status,
    previous_status: before.status,
    justification: plan.justification,
    decided_by: actor.name,
    decided_at: now,
    expires_in_days: plan.expiresInDays,
    expires_at: plan.expiresInDays === null ? null : new Date(now.getTime() + plan.expiresInDays * DAY_MS),
    target_version: plan.targetVersion,
    covers: JSON.stringify(covered.map(coverOf)),
    policy_snapshot: JSON.stringify(deps.settings().cve_policy),
    assigned_to: null,
    assigned_at: null,
    resolved_at: null,
    resolved_by: null,
    resolution_note: null,
  })
  // Where one decision replaces another without a change of the record, there is nothing to give back.
  if (event !== 'refresh')
    await noteBefore(tx, decision.id, new Date(now.getTime() + UNDO_MS), now, stateBefore(before, replaced))
  const change: Change = {
    event,
    rendered,
    findings,
    set:
      event === 'approve'
        ? { ...NOT_HELD, cve_status: 'approved', validation_steps: stepsOf(before, actor) }
        : event === 'reject'
          ? { ...NOT_HELD, cve_status: 'blocked' }
          : {},
    review: event === 'approve' || event === 'reject' ? NO_REVIEW : {},
    audit: {
      ...eventBase(before, actor),
      action: 'SECURITY_DECISION',
      result: 'SUCCESS',
      outcome: plan.action,
      detail: plan.justification,
      extra: {
        decision_id: decision.id,
        decision: plan.decision,
        previous_status: before.status,
        status,
        cve_ids: covered.map((finding) => finding.id),
        expires_at: decision.expires_at,
        target_version: plan.targetVersion,
        sha256: before.sha256,
      },
    },
  }
  const changed = await changeRecord(tx, deps.audit, before, change, deps.offered(before.distribution))
  return { ...changed, decision, replaced }
}

/** What a decision would change in a record. */
export interface Foreseen {
  status: PackageRow['status']
  /** the findings that the decision is about */
  covered: Finding[]
  /** ids of the decisions that it replaces */
  replaced: number[]
  /** all findings of the record, with those that would be accepted by then */
  findings: Finding[]
}

/**
 * Changes nothing.
 * @throws Problem('not_under_review', 'self_approval'), and 'validation_error' where the decision leaves findings open or
 *   names one that the record does not have
 */
export async function foresee(
  deps: DecideDeps,
  db: Db,
  before: PackageRow,
  plan: Plan,
  actor: Actor,
  event: StatusEvent = EVENTS[plan.action],
): Promise<Foreseen> {
  const transition = transitionOf(before.status, event)
  if (!transition) throw notUnderReview(before)
  if (plan.decision === 'approve') await requireOther(deps, db, before, actor)
  const found = (before.cve_results ?? []) as Finding[]
  const covered = coveredBy(plan, found)
  const standing = (await activeDecisions(db, [before.id])).get(before.id) ?? []
  const replaced = replacedBy(plan, covered, standing)
  const kept = standing.filter((other) => !replaced.includes(other.id))
  const findings = withAcceptance(found, [...kept, { decision: plan.decision, covers: covered.map(coverOf) }])
  if (plan.decision === 'approve') requireAllDecided(found, findings, event)
  return { status: transition.to as PackageRow['status'], covered, replaced, findings }
}

/** The findings a decision covers: those it names, or all that the policy sends to review. */
function coveredBy(plan: Plan, findings: readonly Finding[]): Finding[] {
  if (plan.cveIds === null) return findings.filter(asksForReview)
  const named = new Set(plan.cveIds)
  const unknown = plan.cveIds.filter((id) => !findings.some((finding) => finding.id === id))
  if (unknown.length > 0) throw invalidField('cve_ids', `the package has no finding ${unknown.slice(0, 10).join(', ')}`)
  return findings.filter((finding) => named.has(finding.id))
}

/** No package is published with an undecided finding, and no finding loses the approval it was published under. */
function requireAllDecided(before: readonly Finding[], after: readonly Finding[], event: StatusEvent): void {
  const accepted = new Set(before.filter((finding) => finding.accepted_by_decision).map((finding) => finding.id))
  const left = openFindings(after).filter((finding) => event === 'approve' || accepted.has(finding.id))
  if (left.length > 0)
    throw invalidField(
      'cve_ids',
      `leaves ${left
        .slice(0, 10)
        .map((finding) => finding.id)
        .join(', ')} undecided`,
    )
}

/** A decision about the package replaces every other; one about named findings replaces those it covers completely. */
function replacedBy(plan: Plan, covered: readonly Finding[], standing: readonly DecisionRow[]): number[] {
  const ids = new Set(covered.map((finding) => finding.id))
  const repeats = ({ covers }: DecisionRow) => covers.length > 0 && covers.every((cover) => ids.has(cover.id))
  return standing
    .filter(
      (other) => plan.cveIds === null || plan.decision !== 'approve' || other.decision !== 'approve' || repeats(other),
    )
    .map((other) => other.id)
}

/** @throws Problem('self_approval') when the settings forbid it, and uploader and decider are one person or their token */
async function requireOther(deps: DecideDeps, tx: Db, row: PackageRow, actor: Actor): Promise<void> {
  if (!deps.settings().security.forbid_self_approval) return
  const people = await peopleBehind(tx, [row.imported_by, actor.name])
  const [uploader, decider] = [people.get(row.imported_by) ?? [], people.get(actor.name) ?? []]
  if (uploader.some((name) => decider.includes(name)))
    throw new Problem(
      'self_approval',
      `${row.name} ${row.version} was uploaded by ${row.imported_by}: another person must approve it`,
    )
}

/** Each name with the people behind it: a token acts for the user who created it. */
async function peopleBehind(tx: Db, names: readonly string[]): Promise<Map<string, string[]>> {
  const people = new Map(names.map((name) => [name, [name]]))
  for (const [name, list] of people) {
    if (!name.startsWith('token:')) continue
    // Rows of jobs' tokens are deleted when they expire; jobs of one publisher count as one person.
    const publisher = publisherOfActor(name)
    if (publisher !== null) list.push(`publisher ${publisher}`)
    const tokens = await tx
      .selectFrom('api_tokens')
      .select('created_by')
      .where('name', '=', name.slice('token:'.length))
      .execute()
    list.push(...tokens.map((token) => token.created_by))
  }
  return people
}

function stepsOf(before: PackageRow, actor: Actor): string {
  const steps = (before.validation_steps as { name: string }[]).filter((step) => step.name !== 'publication')
  return JSON.stringify([
    ...steps,
    { name: 'publication', passed: true, message: `offered to clients: approved by ${actor.name}`, detail: null },
  ])
}
