// Acting on held packages: decide, rescan, quarantine, and what was decided about one version.
import Type from 'typebox'
import { invalidField, Problem } from '../domain/problem.ts'
import type { Clock } from '../kernel/clock.ts'
import { decisionOf } from '../review/decisions.ts'
import type { Review } from '../review/review.ts'
import { slaOf } from '../review/sla.ts'
import { selectRecords } from '../store/records/artifact-query.ts'
import type { Db } from '../store/db.ts'
import { blobOf } from '../store/files/blob-query.ts'
import { recordOf } from './records.ts'
import { route, type Route } from './route.ts'
import { Nullable, StatusAnswer } from './schemas.ts'
import {
  actorOf,
  CountsSchema,
  DecisionBodySchema,
  DecisionSchema,
  NameVersion,
  Narrowed,
  optionalBody,
  selectorOf,
  SlaSchema,
  textOf,
} from './security-schemas.ts'
import { speaking, standingOf } from './security-views.ts'

const MESSAGES = {
  accept_risk: 'approved: clients can install it',
  exception: 'approved for a time: clients can install it',
  reject: 'rejected: it is not offered, and its bytes are refused from now on',
  upgrade_required: 'noted: it stays under review until it is replaced or decided',
} as const

const MAX_NOTE = 2000

export function securityDecideRoutes(parts: { db: Db; clock: Clock; review: Review }): Route[] {
  const { db, review } = parts
  return [
    route({
      method: 'POST',
      path: '/security/packages/{name}/{version}/decide',
      tag: 'security',
      summary: 'Approve or reject a held version; answered once clients see it',
      access: 'maintainer+',
      params: NameVersion,
      query: Narrowed,
      body: DecisionBodySchema,
      answer: Type.Object({
        status: Type.Literal('ok'),
        package: Type.String(),
        version: Type.String(),
        decision: DecisionSchema,
        decisions: Type.Array(DecisionSchema),
        action: Type.String(),
        new_status: Type.String(),
        message: Type.String(),
      }),
      problems: ['not_found', 'not_under_review', 'ambiguous', 'self_approval', 'publication_failed', 'storage_full'],
      async handle(call) {
        const decided = await review.decide(selectorOf(call, call.body), call.body, actorOf(call))
        const records = decided.map(({ decision }) => decisionOf(decision, parts.clock.now()))
        const [first] = records as [(typeof records)[number]]
        return {
          status: 'ok',
          package: call.params.name,
          version: call.params.version,
          decision: first,
          decisions: records,
          action: first.action,
          new_status: first.status,
          message: MESSAGES[first.action],
        }
      },
    }),
    route({
      method: 'POST',
      path: '/security/packages/{name}/{version}/rescan',
      tag: 'security',
      summary: 'Scan a version again with what is known today; never publishes or approves',
      access: 'maintainer+',
      params: NameVersion,
      query: Narrowed,
      answer: Type.Object({
        status: Type.Literal('ok'),
        package: Type.String(),
        version: Type.String(),
        cve_scan: Type.String(),
        cve_count: Type.Integer(),
        cve_counts: CountsSchema,
        previous_status: Type.String(),
        new_status: Type.String(),
        new_cve_ids: Type.Array(Type.String()),
        dropped_cve_ids: Type.Array(Type.String()),
        scanned_at: Type.String(),
        db_version: Nullable(Type.String()),
        coverage: Nullable(Type.Object({})),
        records: Type.Array(Type.Object({})),
      }),
      problems: ['validation_error', 'not_found', 'scanner_unavailable', 'timeout'],
      async handle(call) {
        const rescanned = await review.rescan(selectorOf(call, optionalBody(call.raw)), actorOf(call))
        const records = rescanned.map(({ risk: _risk, ...record }) => record)
        return { status: 'ok', package: call.params.name, version: call.params.version, ...records[0], records }
      },
    }),
    route({
      method: 'POST',
      path: '/security/packages/{name}/{version}/quarantine',
      tag: 'security',
      summary: 'Take a version away from clients; its bytes are kept apart. Optional body: `reason`',
      access: 'maintainer+',
      params: NameVersion,
      query: Narrowed,
      answer: Type.Object({
        status: Type.Literal('quarantined'),
        package: Type.String(),
        version: Type.String(),
        distributions: Type.Array(Type.String()),
        message: Type.String(),
      }),
      problems: ['validation_error', 'not_found', 'not_under_review', 'publication_failed', 'storage_full'],
      async handle(call) {
        const body = optionalBody(call.raw)
        const changes = await review.quarantine(
          selectorOf(call, body),
          noteOf(body, 'reason') ?? noteOf(body, 'justification'),
          actorOf(call),
        )
        const distributions = [...new Set(changes.map(({ row }) => row.distribution))]
        return {
          status: 'quarantined',
          package: call.params.name,
          version: call.params.version,
          distributions,
          message: `quarantined in ${distributions.join(', ')}`,
        }
      },
    }),
    route({
      method: 'GET',
      path: '/security/packages/{name}/{version}/decision',
      tag: 'security',
      summary: 'What stands for a version: its record, the decision in force, its deadline',
      access: 'auditor+',
      params: NameVersion,
      query: Narrowed,
      answer: Type.Object({
        manifest: Type.Object({}),
        decision: Nullable(DecisionSchema),
        sla: SlaSchema,
        status: Type.String(),
      }),
      problems: ['not_found'],
      async handle(call) {
        const row = speaking(await selectRecords(db, selectorOf(call, undefined)))
        if (!row) throw unknown(call.params)
        const now = parts.clock.now()
        const standing = (await standingOf(db, [row], now))(row)
        const blob = await blobOf(db, row.sha256)
        return {
          manifest: recordOf(row, blob, standing),
          decision: standing.decision,
          sla: standing.sla ?? slaOf(null, now),
          status: row.status,
        }
      },
    }),
    route({
      method: 'POST',
      path: '/security/packages/{name}/{version}/decision/resolve',
      tag: 'security',
      summary: 'Note that what a decision asked for was done',
      access: 'maintainer+',
      params: NameVersion,
      query: Narrowed,
      body: Type.Object({ note: Type.String({ minLength: 1, maxLength: MAX_NOTE }) }),
      answer: Type.Intersect([StatusAnswer, Type.Object({ decision: DecisionSchema })]),
      problems: ['not_found'],
      async handle(call) {
        const rows = await selectRecords(db, selectorOf(call, call.body))
        if (rows.length === 0) throw unknown(call.params)
        const decision = await review.resolveDecision(
          rows.map((row) => row.id),
          call.body.note,
          actorOf(call),
        )
        return { status: 'resolved', decision: decisionOf(decision, parts.clock.now()) }
      },
    }),
  ]
}

function noteOf(body: unknown, key: string): string | null {
  const note = textOf(body, key)?.trim() || null
  if (note !== null && note.length > MAX_NOTE) throw invalidField(key, `is longer than ${MAX_NOTE} characters`)
  return note
}

function unknown({ name, version }: { name: string; version: string }): Problem {
  return new Problem('not_found', `there is no package ${name} ${version}`)
}
