// A person decides about a held package: approve, for good or for a time, reject, or wait for an upgrade.
import type { Finding } from '../domain/finding.ts'
import { asksForReview, openFindings } from '../domain/review-due.ts'
import { invalidField, isProblem, Problem } from '../domain/problem.ts'
import type { DecisionAction } from '../domain/status.ts'
import { transitionOf, type StatusEvent } from '../domain/transitions.ts'
import { isStorageFull } from '../kernel/files.ts'
import {
  changeRecord,
  lockIfThere,
  lockRecord,
  notUnderReview,
  type Change,
  type Changed,
} from '../records/change-record.ts'
import { selectRecords, type RecordSelector } from '../store/records/artifact-query.ts'
import { activeDecisions, closeDecisions, insertDecision, reopenDecisions } from '../store/records/decisions.ts'
import type { DecisionRow, PackageRow } from '../store/tables.ts'
import type { Db } from '../store/db.ts'
import { coverOf, withAcceptance } from './coverage.ts'
import { eventBase, inLockOrder, NO_REVIEW, type Actor, type ReviewDeps } from './deps.ts'
import { readPlan, type DecisionBody, type Plan } from './plan.ts'
import { announce, cleanUp, publishChanges } from './settle.ts'

export interface Decided extends Changed {
  decision: DecisionRow
}

interface DecidedHere extends Decided {
  /** what this decision took the place of */
  replaced: number[]
}

const EVENTS: Record<DecisionAction, StatusEvent> = {
  accept_risk: 'approve',
  exception: 'approve',
  reject: 'reject',
  upgrade_required: 'require_upgrade',
}
const DAY_MS = 86_400_000
const REPLACED = 'replaced by a later decision'

/**
 * Decides about every held record the selector means, and answers once clients see it.
 * @throws Problem('validation_error') for what is asked, 'not_found', 'not_under_review' with `current_status`,
 * 'ambiguous' with `candidates`, 'self_approval', and 'publication_failed' or 'storage_full': an approval that cannot be
 * published is none, and the package stays under review
 */
export async function decide(
  parts: ReviewDeps,
  selector: RecordSelector,
  body: DecisionBody,
  actor: Actor,
): Promise<Decided[]> {
  const plan = readPlan(body)
  const rows = await selectRecords(parts.db, selector)
  const newest = rows.at(-1)
  if (!newest)
    throw new Problem(
      'not_found',
      `there is no package ${[selector.name, selector.version, selector.distribution, selector.arch].filter(Boolean).join(' ')}`,
    )
  const held = rows.filter((row) => row.status === 'pending_review')
  if (held.length === 0) throw notUnderReview(newest)
  requireAlike(held)
  const decided = await parts.db.transaction().execute(async (tx) => {
    const done: DecidedHere[] = []
    for (const { id } of inLockOrder(held)) done.push(await decideOne(parts, tx, id, plan, actor))
    return done
  })
  parts.checkpoint('decided')
  const failure = await publishChanges(parts, decided)
  if (failure !== null && plan.decision === 'approve') return takeBack(parts, decided, actor, failure)
  await cleanUp(parts, decided)
  announce(parts, decided)
  for (const { row, decision } of decided) {
    parts.bus.emit('decision', {
      package: row.name,
      version: row.version,
      distribution: row.distribution,
      arch: row.arch,
      action: plan.action,
      status: row.status,
      decided_by: decision.decided_by,
    })
  }
  // A rejection stands although the index could not be changed yet: recovery goes on trying.
  if (failure !== null) throw failure
  return decided
}

/** One decision may speak for several records only when they are the same thing to whoever decides. */
function requireAlike(held: readonly PackageRow[]): void {
  const openOf = (row: PackageRow) =>
    ((row.cve_results ?? []) as Finding[])
      .filter((finding) => !finding.accepted_by_decision)
      .map((finding) => finding.id)
      .sort()
  const keys = new Set(held.map((row) => JSON.stringify([row.sha256, openOf(row)])))
  if (keys.size === 1) return
  const candidates = held.map((row) => ({
    distribution: row.distribution,
    arch: row.arch,
    sha256: row.sha256,
    held_reason: row.held_reason,
    cve_ids: openOf(row),
  }))
  throw new Problem(
    'ambiguous',
    'several packages of that version are held and differ; name the distribution or the architecture',
    { candidates },
  )
}

/** @param event other than what the plan's action does: a decision in place of another changes no status */
export async function decideOne(
  parts: ReviewDeps,
  tx: Db,
  id: number,
  plan: Plan,
  actor: Actor,
  event = EVENTS[plan.action],
): Promise<DecidedHere> {
  const now = parts.clock.now()
  const before = await lockRecord(tx, id)
  const transition = transitionOf(before.status, event)
  if (!transition) throw notUnderReview(before)
  if (plan.decision === 'approve') await requireOther(parts, tx, before, actor)
  const findings = (before.cve_results ?? []) as Finding[]
  const covered = coveredBy(plan, findings)
  const standing = (await activeDecisions(tx, [id])).get(id) ?? []
  const replaced = replacedBy(plan, covered, standing)
  await closeDecisions(tx, replaced, { at: now, by: actor.name, note: REPLACED })
  const decision = await insertDecision(tx, before, {
    decision: plan.decision,
    action: plan.action,
    status: transition.to as PackageRow['status'],
    previous_status: before.status,
    justification: plan.justification,
    decided_by: actor.name,
    decided_at: now,
    expires_in_days: plan.expiresInDays,
    expires_at: plan.expiresInDays === null ? null : new Date(now.getTime() + plan.expiresInDays * DAY_MS),
    target_version: plan.targetVersion,
    covers: JSON.stringify(covered.map(coverOf)),
    policy_snapshot: JSON.stringify(parts.settings().cve_policy),
    assigned_to: null,
    assigned_at: null,
    resolved_at: null,
    resolved_by: null,
    resolution_note: null,
  })
  const inForce = [...standing.filter((other) => !replaced.includes(other.id)), decision]
  const after = withAcceptance(findings, inForce)
  if (plan.decision === 'approve') requireAllDecided(findings, after, event)
  const change: Change = {
    event,
    findings: after,
    set:
      event === 'approve'
        ? { ...NO_REVIEW, cve_status: 'approved', validation_steps: stepsOf(before, actor) }
        : event === 'reject'
          ? { ...NO_REVIEW, cve_status: 'blocked' }
          : {},
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
        status: transition.to,
        cve_ids: covered.map((finding) => finding.id),
        expires_at: decision.expires_at,
        target_version: plan.targetVersion,
        sha256: before.sha256,
      },
    },
  }
  const changed = await changeRecord(tx, parts.audit, before, change, parts.offered(before.distribution))
  return { ...changed, decision, replaced }
}

/** The findings a decision speaks for: those it names, or all that ask for a decision. */
function coveredBy(plan: Plan, findings: readonly Finding[]): Finding[] {
  if (plan.cveIds === null) return findings.filter(asksForReview)
  const named = new Set(plan.cveIds)
  const unknown = plan.cveIds.filter((id) => !findings.some((finding) => finding.id === id))
  if (unknown.length > 0) throw invalidField('cve_ids', `the package has no finding ${unknown.slice(0, 10).join(', ')}`)
  return findings.filter((finding) => named.has(finding.id))
}

/** Nothing is offered with a finding that nobody spoke for, and none loses the decision it was offered under. */
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

/** A decision on the package as a whole replaces what stood; one on named findings only what it repeats. */
function replacedBy(plan: Plan, covered: readonly Finding[], standing: readonly DecisionRow[]): number[] {
  const ids = new Set(covered.map((finding) => finding.id))
  const repeats = ({ covers }: DecisionRow) => covers.length > 0 && covers.every((cover) => ids.has(cover.id))
  return standing
    .filter(
      (other) => plan.cveIds === null || plan.decision !== 'approve' || other.decision !== 'approve' || repeats(other),
    )
    .map((other) => other.id)
}

/** @throws Problem('self_approval') when a setting forbids it and the package came in by the same hand, or by its token */
async function requireOther(parts: ReviewDeps, tx: Db, row: PackageRow, actor: Actor): Promise<void> {
  if (!parts.settings().security.forbid_self_approval) return
  const hands = await handsBehind(tx, [row.imported_by, actor.name])
  const [bringer, decider] = [hands.get(row.imported_by) ?? [], hands.get(actor.name) ?? []]
  if (bringer.some((name) => decider.includes(name)))
    throw new Problem(
      'self_approval',
      `${row.name} ${row.version} was brought in by ${row.imported_by}: somebody else must approve it`,
    )
}

/** A token acts for whoever made it. */
async function handsBehind(tx: Db, names: readonly string[]): Promise<Map<string, string[]>> {
  const hands = new Map(names.map((name) => [name, [name]]))
  for (const [name, list] of hands) {
    if (!name.startsWith('token:')) continue
    const tokens = await tx
      .selectFrom('api_tokens')
      .select('created_by')
      .where('name', '=', name.slice('token:'.length))
      .execute()
    list.push(...tokens.map((token) => token.created_by))
  }
  return hands
}

function stepsOf(before: PackageRow, actor: Actor): string {
  const steps = (before.validation_steps as { name: string }[]).filter((step) => step.name !== 'publication')
  return JSON.stringify([
    ...steps,
    { name: 'publication', passed: true, message: `offered to clients: approved by ${actor.name}`, detail: null },
  ])
}

/** Not published, so not approved: every record is as it was, and no decision stands. */
async function takeBack(
  parts: ReviewDeps,
  decided: readonly DecidedHere[],
  actor: Actor,
  failure: unknown,
): Promise<never> {
  const undone = await parts.db.transaction().execute(async (tx) => {
    const done: Changed[] = []
    for (const { before, decision, replaced } of decided) {
      const row = await lockIfThere(tx, before.id)
      await closeDecisions(tx, [decision.id], {
        at: parts.clock.now(),
        by: 'system',
        note: 'the index could not be published',
      })
      await reopenDecisions(tx, replaced, REPLACED)
      // Somebody was faster: what he did counts.
      if (row?.status !== 'published') continue
      const { cve_status, held_reason, review_origin, review_since, review_due_at, overdue_noted_at } = before
      done.push(
        await changeRecord(
          tx,
          parts.audit,
          row,
          {
            event: before.served ? 'revoke' : 'unpublishable',
            findings: (before.cve_results ?? []) as Finding[],
            set: {
              ...{ cve_status, held_reason, review_origin, review_since, review_due_at, overdue_noted_at },
              review_reasons: before.review_reasons && JSON.stringify(before.review_reasons),
              validation_steps: JSON.stringify(before.validation_steps),
            },
            audit: {
              ...eventBase(row, actor),
              action: 'PUBLISH_FAILURE',
              result: 'FAILURE',
              outcome: 'publication_failed',
              detail: 'the approval was taken back',
              extra: { decision_id: decision.id },
            },
          },
          parts.offered(row.distribution),
        ),
      )
    }
    return done
  })
  // What fails here too is done by the next recovery.
  await publishChanges(parts, undone)
  await cleanUp(parts, undone)
  if (isProblem(failure) || isStorageFull(failure)) throw failure
  throw new Problem(
    'publication_failed',
    'the package could not be published; it is still under review',
    {},
    { cause: failure },
  )
}
