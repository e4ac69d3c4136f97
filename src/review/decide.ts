// A person decides about a held package: approve it (for good or for a time), reject it, or wait for an upgrade.
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
import { renderAhead, type Rendered } from '../records/entries.ts'
import { matchingRecords, type RecordSelector } from '../store/records/artifact-query.ts'
import { activeDecisions, closeDecisions, insertDecision, reopenDecisions } from '../store/records/decisions.ts'
import type { DecisionRow, PackageRow } from '../store/tables.ts'
import type { Db } from '../store/db.ts'
import { coverOf, withAcceptance } from './coverage.ts'
import { eventBase, inLockOrder, NO_REVIEW, NOT_HELD, noSuchPackage, type Actor, type ReviewDeps } from './deps.ts'
import { readPlan, type DecisionBody, type Plan } from './plan.ts'
import { announce, cleanUp, publishChanges, type CleanUpDeps } from './settle.ts'

export type DecideDeps = CleanUpDeps &
  Pick<ReviewDeps, 'db' | 'clock' | 'audit' | 'checkpoint' | 'settings' | 'offered'>

export interface Decided extends Changed {
  decision: DecisionRow
}

interface DecidedHere extends Decided {
  /** ids of the decisions that this one replaced */
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
 * Decides about every held record that the selector matches, and returns when clients see the result.
 * @throws Problem('validation_error') for the body, 'not_found', 'not_under_review' with `current_status`, 'ambiguous' with
 * `candidates`, 'self_approval'; 'publication_failed' or 'storage_full' when an approval could not be published: it is
 * reverted, and the package stays under review
 */
export async function decide(
  deps: DecideDeps,
  selector: RecordSelector,
  body: DecisionBody,
  actor: Actor,
): Promise<Decided[]> {
  const plan = readPlan(body)
  // With findings, which `requireAlike` compares: a version has at most one record per distribution and architecture.
  const rows = await matchingRecords(deps.db, selector).selectAll().execute()
  const newest = rows.at(-1)
  if (!newest) throw noSuchPackage(selector)
  const held = rows.filter((row) => row.status === 'pending_review')
  if (held.length === 0) throw notUnderReview(newest)
  requireAlike(held)
  const rendered = new Map<number, Rendered | null>()
  if (plan.decision === 'approve')
    for (const row of held) rendered.set(row.id, await renderAhead(deps.db, row, deps.offered(row.distribution)))
  const decided = await deps.db.transaction().execute(async (tx) => {
    const done: DecidedHere[] = []
    for (const { id } of inLockOrder(held))
      done.push(await decideOne(deps, tx, id, plan, actor, { rendered: rendered.get(id) }))
    return done
  })
  deps.checkpoint('decided')
  const failure = await publishChanges(deps, decided)
  if (failure !== null && plan.decision === 'approve') return revertDecisions(deps, decided, actor, failure)
  await cleanUp(deps, decided)
  announce(deps, decided)
  for (const { row, decision } of decided) {
    deps.bus.emit('decision', {
      package: row.name,
      version: row.version,
      distribution: row.distribution,
      arch: row.arch,
      action: plan.action,
      status: row.status,
      decided_by: decision.decided_by,
    })
  }
  // A rejection stays in force although the index could not be changed yet: recovery repeats that.
  if (failure !== null) throw failure
  return decided
}

/** One decision may cover several records only when they have the same bytes and the same open findings. */
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

/** @param event by default that of the plan's action; `refresh` when the decision replaces another one */
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
  const transition = transitionOf(before.status, event)
  if (!transition) throw notUnderReview(before)
  if (plan.decision === 'approve') await requireOther(deps, tx, before, actor)
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
    policy_snapshot: JSON.stringify(deps.settings().cve_policy),
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
    rendered,
    findings: after,
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
        status: transition.to,
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

/** The approval was not published, so it is reverted: records and earlier decisions are as before. */
async function revertDecisions(
  deps: DecideDeps,
  decided: readonly DecidedHere[],
  actor: Actor,
  failure: unknown,
): Promise<never> {
  const undone = await deps.db.transaction().execute(async (tx) => {
    const done: Changed[] = []
    for (const { before, decision, replaced } of decided) {
      const row = await lockIfThere(tx, before.id)
      await closeDecisions(tx, [decision.id], {
        at: deps.clock.now(),
        by: 'system',
        note: 'the index could not be published',
      })
      await reopenDecisions(tx, replaced, REPLACED)
      // Another change came first, and it counts.
      if (row?.status !== 'published') continue
      const { cve_status, held_reason, review_due_at, review_origin, review_since, overdue_noted_at } = before
      done.push(
        await changeRecord(
          tx,
          deps.audit,
          row,
          {
            event: before.served ? 'revoke' : 'unpublishable',
            findings: (before.cve_results ?? []) as Finding[],
            set: {
              ...{ cve_status, held_reason, review_due_at },
              validation_steps: JSON.stringify(before.validation_steps),
            },
            review: {
              ...{ review_origin, review_since, overdue_noted_at },
              review_reasons: before.review_reasons && JSON.stringify(before.review_reasons),
            },
            audit: {
              ...eventBase(row, actor),
              action: 'PUBLISH_FAILURE',
              result: 'FAILURE',
              outcome: 'publication_failed',
              detail: 'the approval was reverted',
              extra: { decision_id: decision.id },
            },
          },
          deps.offered(row.distribution),
        ),
      )
    }
    return done
  })
  // Whatever fails here is done by the next recovery.
  await publishChanges(deps, undone)
  await cleanUp(deps, undone)
  if (isProblem(failure) || isStorageFull(failure)) throw failure
  throw new Problem(
    'publication_failed',
    'the package could not be published; it is still under review',
    {},
    { cause: failure },
  )
}
