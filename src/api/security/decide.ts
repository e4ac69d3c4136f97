// Actions on held packages: decide, rescan, quarantine; and the decisions about one version.
import { invalidField, Problem } from '../../domain/problem.ts'
import type { Clock } from '../../kernel/clock.ts'
import { decisionOf } from '../../review/decisions.ts'
import type { Review } from '../../review/review.ts'
import { slaOf } from '../../review/sla.ts'
import { matchingRecords, recordsOf } from '../../store/records/artifact-query.ts'
import type { Db } from '../../store/db.ts'
import { blobOf } from '../../store/files/blob-query.ts'
import { recordOf } from '../shared/records.ts'
import { type Route } from '../http/route.ts'
import { actorOf, optionalBody, selectorOf, textOf } from './schemas.ts'
import { representative, reviewStateOf } from './views.ts'
import {
  postSecurityDecisionsBulk,
  postSecurityPackagesNameVersionDecide,
  postSecurityPackagesNameVersionRescan,
  postSecurityPackagesNameVersionQuarantine,
  getSecurityPackagesNameVersionDecision,
  postSecurityPackagesNameVersionDecisionResolve,
  MAX_NOTE,
} from './decide.contract.ts'
import { handle } from '../http/route.ts'

const MESSAGES = {
  accept_risk: 'approved: clients can install it',
  exception: 'approved for a time: clients can install it',
  reject: 'rejected: it is not offered, and its bytes are refused from now on',
  upgrade_required: 'noted: it stays under review until it is replaced or decided',
} as const

export function securityDecideRoutes(deps: { db: Db; clock: Clock; review: Review }): Route[] {
  const { db, review } = deps
  return [
    handle(postSecurityPackagesNameVersionDecide, async (call) => {
      const decided = await review.decide(
        { ...selectorOf(call, call.body), sha256: call.body.sha256 ?? undefined },
        call.body,
        actorOf(call),
      )
      const records = decided.map(({ decision }) => decisionOf(decision, deps.clock.now()))
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
    }),
    handle(postSecurityDecisionsBulk, async (call) => {
      const { items: named, dry_run: dryRun = false, ...body } = call.body
      const selectors = named.map((item) => ({
        ...{ name: item.package, version: item.version },
        ...{ distribution: item.distribution ?? undefined, arch: item.arch ?? undefined },
        sha256: item.sha256 ?? undefined,
      }))
      const now = deps.clock.now()
      const decided = await review.decideSeveral(selectors, body, actorOf(call), { dryRun })
      const items = decided.map(({ selector, records, decisions, problem }) => ({
        ...{ package: selector.name, version: selector.version as string },
        result: problem ? ('failed' as const) : ('decided' as const),
        records,
        decisions: decisions.map((decision) => decisionOf(decision, now)),
        code: problem?.code ?? null,
        detail: problem?.detail ?? null,
        ...(problem?.extra['candidates'] ? { candidates: problem.extra['candidates'] } : {}),
      }))
      const changed = decided.flatMap(({ records }) => records.filter(({ effect }) => effect !== 'none'))
      const failed = decided.filter(({ problem }) => problem).length
      const ended = failed === 0 ? 'ok' : failed < items.length ? 'partial' : 'failed'
      return {
        status: dryRun ? 'dry_run' : ended,
        decided: items.length - failed,
        failed,
        publishes: [...new Set(changed.map(({ distribution }) => distribution))].sort(),
        items,
      }
    }),
    handle(postSecurityPackagesNameVersionRescan, async (call) => {
      const rescanned = await review.rescan(selectorOf(call, optionalBody(call.raw)), actorOf(call))
      const records = rescanned.map(({ risk: _risk, ...record }) => record)
      return { status: 'ok', package: call.params.name, version: call.params.version, ...records[0], records }
    }),
    handle(postSecurityPackagesNameVersionQuarantine, async (call) => {
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
    }),
    handle(getSecurityPackagesNameVersionDecision, async (call) => {
      const rows = await matchingRecords(db, selectorOf(call, undefined)).select(['id', 'status', 'risk']).execute()
      const shown = representative(rows)
      const [row] = shown ? await recordsOf(db, [shown.id]) : []
      if (!row) throw unknown(call.params)
      const now = deps.clock.now()
      const reviewState = (await reviewStateOf(db, [row], now))(row)
      const blob = await blobOf(db, row.sha256)
      return {
        manifest: recordOf(row, blob, reviewState),
        decision: reviewState.decision,
        sla: reviewState.sla ?? slaOf(null, now),
        status: row.status,
      }
    }),
    handle(postSecurityPackagesNameVersionDecisionResolve, async (call) => {
      const rows = await matchingRecords(db, selectorOf(call, call.body)).select('id').execute()
      if (rows.length === 0) throw unknown(call.params)
      const decision = await review.resolveDecision(
        rows.map((row) => row.id),
        call.body.note,
        actorOf(call),
      )
      return { status: 'resolved', decision: decisionOf(decision, deps.clock.now()) }
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
