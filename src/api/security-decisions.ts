// /security/decisions: what was decided, changing it, handing it on; the check of deadlines; the report.
import Type from 'typebox'
import type { Settings } from '../domain/settings.ts'
import { DECISION_ACTIONS } from '../domain/status.ts'
import { isoTime, type Clock } from '../kernel/clock.ts'
import { decisionOf } from '../review/decisions.ts'
import type { Review } from '../review/review.ts'
import { decisionPage, type DecisionFilter } from '../store/records/decision-query.ts'
import type { Db } from '../store/db.ts'
import { queuePage, securityPage } from '../store/records/review-query.ts'
import { route, type Route } from './route.ts'
import { Nullable, pageQuery, StatusAnswer } from './schemas.ts'
import {
  actorOf,
  CountsSchema,
  DecisionBodySchema,
  DecisionId,
  DecisionSchema,
  optionalBody,
  textOf,
} from './security-schemas.ts'
import { SecurityItem, securityItems } from './security-views.ts'

const Listed = Type.Object({
  decisions: Type.Array(DecisionSchema),
  count: Type.Integer(),
  total: Type.Integer(),
  page: Type.Integer(),
  per_page: Type.Integer(),
  pages: Type.Integer(),
})
const Decided = Type.Intersect([StatusAnswer, Type.Object({ decision: DecisionSchema })])
const SlaItem = Type.Object({
  kind: Type.String(),
  package: Type.String(),
  version: Type.String(),
  distribution: Type.String(),
  arch: Type.String(),
  sla: Type.Object({}),
})

export function securityDecisionRoutes(parts: { db: Db; clock: Clock; review: Review; settings(): Settings }): Route[] {
  const { db, review } = parts

  async function list(filter: DecisionFilter, query: { page: number; per_page: number }) {
    const { rows, total } = await decisionPage(db, filter, { page: query.page, perPage: query.per_page })
    const decisions = rows.map((row) => decisionOf(row, parts.clock.now()))
    return {
      decisions,
      count: decisions.length,
      total,
      page: query.page,
      per_page: query.per_page,
      pages: Math.ceil(total / query.per_page),
    }
  }

  return [
    route({
      method: 'GET',
      path: '/security/decisions',
      tag: 'security',
      summary: 'Decisions, newest first',
      access: 'auditor+',
      query: Type.Object({
        ...pageQuery(),
        package: Type.Optional(Type.String()),
        version: Type.Optional(Type.String()),
        distribution: Type.Optional(Type.String()),
        action: Type.Optional(Type.Enum([...DECISION_ACTIONS])),
        active: Type.Optional(Type.Boolean()),
        assigned_to: Type.Optional(Type.String()),
      }),
      answer: Listed,
      problems: ['validation_error'],
      handle: ({ query: { assigned_to: assignedTo, ...query } }) => list({ ...query, assignedTo }, query),
    }),
    route({
      method: 'GET',
      path: '/security/decisions/mine',
      tag: 'security',
      summary: 'Decisions assigned to the caller',
      access: 'auditor+',
      query: Type.Object(pageQuery()),
      answer: Listed,
      problems: ['validation_error'],
      handle: ({ query, caller }) => list({ assignedTo: caller.name }, query),
    }),
    route({
      method: 'GET',
      path: '/security/decisions/unassigned',
      tag: 'security',
      summary: 'Decisions in force that nobody looks after',
      access: 'auditor+',
      query: Type.Object(pageQuery()),
      answer: Listed,
      problems: ['validation_error'],
      handle: ({ query }) => list({ unassigned: true }, query),
    }),
    route({
      method: 'PUT',
      path: '/security/decisions/{id}',
      tag: 'security',
      summary: 'Put a new decision in the place of one in force',
      access: 'maintainer+',
      params: DecisionId,
      body: DecisionBodySchema,
      answer: Decided,
      problems: ['not_found', 'not_under_review', 'self_approval'],
      async handle(call) {
        const decision = await review.replaceDecision(call.params.id, call.body, actorOf(call))
        return { status: 'ok', decision: decisionOf(decision, parts.clock.now()) }
      },
    }),
    route({
      method: 'DELETE',
      path: '/security/decisions/{id}',
      tag: 'security',
      summary: 'Withdraw a decision: what it let pass is under review again, still served. Optional body: `note`',
      access: 'maintainer+',
      params: DecisionId,
      answer: Decided,
      problems: ['validation_error', 'not_found', 'not_under_review'],
      async handle(call) {
        const decision = await review.revokeDecision(
          call.params.id,
          textOf(optionalBody(call.raw), 'note')?.trim().slice(0, 2000) || null,
          actorOf(call),
        )
        return { status: 'withdrawn', decision: decisionOf(decision, parts.clock.now()) }
      },
    }),
    route({
      method: 'PATCH',
      path: '/security/decisions/{id}/assign',
      tag: 'security',
      summary: 'Say who looks after a decision; null for nobody',
      access: 'maintainer+',
      params: DecisionId,
      body: Type.Object({ assigned_to: Nullable(Type.String({ minLength: 1, maxLength: 64 })) }),
      answer: Decided,
      problems: ['not_found'],
      async handle(call) {
        const decision = await review.assignDecision(call.params.id, call.body.assigned_to, actorOf(call))
        return { status: 'ok', decision: decisionOf(decision, parts.clock.now()) }
      },
    }),
    route({
      method: 'POST',
      path: '/security/check-sla',
      tag: 'security',
      summary: 'End exceptions that have run out and note reviews that are overdue, now',
      access: 'admin',
      answer: Type.Object({
        expired: Type.Integer(),
        expiring_soon: Type.Integer(),
        notified: Type.Integer(),
        expired_list: Type.Array(SlaItem),
        expiring_list: Type.Array(SlaItem),
      }),
      problems: [],
      handle: (call) => review.checkSla(actorOf(call)),
    }),
    route({
      method: 'GET',
      path: '/security/report',
      tag: 'security',
      summary: 'The state of review on one page: the worst packages, what is held, the newest decisions',
      access: 'auditor+',
      query: Type.Object({
        limit: Type.Integer({ minimum: 1, maximum: 1000, default: 200, description: 'most entries of each list' }),
      }),
      answer: Type.Object({
        generated_at: Type.String(),
        generated_by: Type.String(),
        cve_policy: Type.Object({}),
        summary: CountsSchema,
        packages_with_cve: Type.Array(SecurityItem),
        decisions: Type.Array(DecisionSchema),
        pending_review: Type.Array(SecurityItem),
        totals: Type.Object({
          packages_with_cve: Type.Integer(),
          decisions: Type.Integer(),
          pending_review: Type.Integer(),
        }),
      }),
      problems: ['validation_error'],
      async handle({ query, caller }) {
        const at = { page: 1, perPage: query.limit }
        const worst = await securityPage(
          db,
          { severities: ['Critical', 'High', 'Medium', 'Low', 'Negligible', 'Unknown'] },
          at,
        )
        const queue = await queuePage(db, at)
        const { decisions, total } = await list({}, { page: 1, per_page: query.limit })
        return {
          generated_at: isoTime(parts.clock.now()),
          generated_by: caller.name,
          cve_policy: parts.settings().cve_policy,
          summary: worst.summary,
          packages_with_cve: await securityItems(parts, worst.ids, false),
          decisions,
          pending_review: await securityItems(parts, queue.ids, false),
          totals: { packages_with_cve: worst.total, decisions: total, pending_review: queue.review },
        }
      },
    }),
  ]
}
