// /security/decisions: list, change and assign decisions; the check of deadlines; the report.
import type { Settings } from '../../domain/settings.ts'
import { isoTime, type Clock } from '../../kernel/clock.ts'
import { decisionOf } from '../../review/decisions.ts'
import { findDecision } from '../../review/lock-decision.ts'
import type { Review } from '../../review/review.ts'
import { decisionPage, type DecisionFilter } from '../../packages/records/decision-query.ts'
import type { Downloads } from '../../operations/downloads/downloads.ts'
import { dayOf } from '../../store/downloads/days.ts'
import type { Db } from '../../store/db.ts'
import type { DecisionRow } from '../../store/tables.ts'
import { queuePage } from '../../packages/records/queue-query.ts'
import { securityPage } from '../../packages/records/review-query.ts'
import { type Route } from '../http/route.ts'
import { actorOf, optionalBody, textOf } from './schemas.ts'
import { securityItems } from './views.ts'
import {
  getSecurityDecisions,
  getSecurityDecisionsId,
  getSecurityDecisionsMine,
  getSecurityDecisionsUnassigned,
  putSecurityDecisionsId,
  deleteSecurityDecisionsId,
  postSecurityDecisionsUndo,
  patchSecurityDecisionsIdAssign,
  postSecurityCheckSla,
  getSecurityReport,
} from './decisions.contract.ts'
import { handle } from '../http/route.ts'

interface DecisionDeps {
  db: Db
  clock: Clock
  review: Review
  downloads: Pick<Downloads, 'radiusOf'>
  settings(): Settings
}

export function securityDecisionRoutes(deps: DecisionDeps): Route[] {
  const { db, review } = deps

  async function list(filter: DecisionFilter, query: { page: number; per_page: number }) {
    const { rows, total } = await decisionPage(db, filter, { page: query.page, perPage: query.per_page })
    const decisions = rows.map((row) => decisionOf(row, deps.clock.now()))
    return {
      decisions,
      count: decisions.length,
      total,
      page: query.page,
      per_page: query.per_page,
      pages: Math.ceil(total / query.per_page),
    }
  }

  /** Compares a decision with the state that the caller of a change has read. */
  const same = (call: { unchanged(before: object): void }) => (before: DecisionRow) =>
    call.unchanged(decisionOf(before, deps.clock.now()))

  return [
    handle(getSecurityDecisions, ({ query: { assigned_to: assignedTo, ...query } }) =>
      list({ ...query, assignedTo }, query),
    ),
    handle(getSecurityDecisionsMine, ({ query, caller }) => list({ assignedTo: caller.name }, query)),
    handle(getSecurityDecisionsUnassigned, ({ query }) => list({ unassigned: true }, query)),
    handle(getSecurityDecisionsId, async ({ params }) =>
      decisionOf(await findDecision(db, params.id), deps.clock.now()),
    ),
    handle(putSecurityDecisionsId, async (call) => {
      const decision = await review.replaceDecision(call.params.id, call.body, actorOf(call), same(call))
      return { status: 'ok', decision: decisionOf(decision, deps.clock.now()) }
    }),
    handle(deleteSecurityDecisionsId, async (call) => {
      const decision = await review.revokeDecision(
        call.params.id,
        textOf(optionalBody(call.raw), 'note')?.trim().slice(0, 2000) || null,
        actorOf(call),
        same(call),
      )
      return { status: 'withdrawn', decision: decisionOf(decision, deps.clock.now()) }
    }),
    handle(postSecurityDecisionsUndo, async (call) => {
      const undone = await review.undoDecisions(call.body.ids, actorOf(call))
      const today = dayOf(deps.clock.now())
      const earliest = Math.min(
        today,
        ...undone.flatMap(({ decision }) => (decision ? dayOf(decision.decided_at) : [])),
      )
      const rows = undone.flatMap(({ change }) => change?.row ?? [])
      const radiusOf = await deps.downloads.radiusOf(rows, today - earliest + 1)
      const items = undone.map(({ id, decision, change, problem }) => ({
        decision_id: id,
        result: problem ? ('failed' as const) : ('undone' as const),
        package: decision?.package ?? null,
        version: decision?.version ?? null,
        distribution: decision?.distribution ?? null,
        arch: decision?.arch ?? null,
        status: change?.row.status ?? null,
        served: change?.row.served ?? null,
        downloads: change ? radiusOf(change.row) : null,
        code: problem?.code ?? null,
        detail: problem?.detail ?? null,
      }))
      const failed = items.filter(({ result }) => result === 'failed').length
      const status = failed === 0 ? 'ok' : failed < items.length ? 'partial' : 'failed'
      return { status, undone: items.length - failed, failed, items }
    }),
    handle(patchSecurityDecisionsIdAssign, async (call) => {
      const decision = await review.assignDecision(call.params.id, call.body.assigned_to, actorOf(call), same(call))
      return { status: 'ok', decision: decisionOf(decision, deps.clock.now()) }
    }),
    handle(postSecurityCheckSla, (call) => review.checkSla(actorOf(call))),
    handle(getSecurityReport, async ({ query, caller }) => {
      const at = { page: 1, perPage: query.limit }
      const worst = await securityPage(
        db,
        { severities: ['Critical', 'High', 'Medium', 'Low', 'Negligible', 'Unknown'] },
        at,
      )
      const queue = await queuePage(db, {}, 'due', at)
      const { decisions, total } = await list({}, { page: 1, per_page: query.limit })
      return {
        generated_at: isoTime(deps.clock.now()),
        generated_by: caller.name,
        cve_policy: deps.settings().cve_policy,
        summary: worst.summary,
        packages_with_cve: await securityItems(deps, worst.ids, false),
        decisions,
        pending_review: await securityItems(deps, queue.ids, false),
        totals: { packages_with_cve: worst.total, decisions: total, pending_review: queue.review },
      }
    }),
  ]
}
