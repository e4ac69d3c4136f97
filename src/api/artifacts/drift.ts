// The drift scan: starting it, and what it found.
import type { DriftState } from '../../operations/drift/drift.ts'
import { findingPage, type Finding } from '../../operations/drift/findings.ts'
import { DRIFT_REPAIR, type RepairResult } from '../../operations/drift/repair.ts'
import { DRIFT_SCAN } from '../../operations/drift/scan.ts'
import { isoTime, isoTimeOrNull } from '../../kernel/clock.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { getArtifactsAdminDrift, postArtifactsAdminDriftScan, postArtifactsAdminRepair } from './drift.contract.ts'
import { handle, type Route } from '../http/route.ts'
import { page } from '../http/schemas.ts'

export interface DriftRouteDeps {
  db: Db
  audit: Pick<AuditLog, 'record'>
  tasks: Pick<Tasks, 'enqueue' | 'run'>
  drift: { state(): Promise<DriftState> }
}

export function driftRoutes({ db, audit, tasks, drift }: DriftRouteDeps): Route[] {
  return [
    handle(postArtifactsAdminDriftScan, async ({ caller, origin: { ip, requestId } }) => {
      const { id } = await tasks.enqueue({ kind: DRIFT_SCAN, createdBy: caller.name, requestId })
      const event = { action: 'DRIFT_SCAN', user: caller.name, detail: `task ${id}`, ip, requestId } as const
      await audit.record({ ...event, result: 'SUCCESS' })
      return { status: 'queued', task_id: id }
    }),
    handle(getArtifactsAdminDrift, async ({ query }) => {
      const { items, total } = await findingPage(db, query, { page: query.page, perPage: query.per_page })
      const { status, last_scan, age_seconds } = await drift.state()
      return {
        ...page(items.map(viewOf), total, query),
        scan: { status, last_scan: isoTimeOrNull(last_scan), age_seconds },
      }
    }),
    handle(postArtifactsAdminRepair, async ({ body: { dry_run = false, max_removed = 100 }, caller, origin }) => {
      const { task_id, ...repaired } = await tasks.run({
        kind: DRIFT_REPAIR,
        // A dry run and a repair that wait at the same time are two tasks.
        key: dry_run ? 'dry_run' : '',
        arguments: { by: caller.name, dry_run, max_removed },
        createdBy: caller.name,
        requestId: origin.requestId,
      })
      const { findings, resolved, results } = repaired as unknown as RepairResult
      return { status: dry_run ? 'dry_run' : 'ok', findings, resolved, results, task_id }
    }),
  ]
}

function viewOf({ package_id: _id, reported: _reported, ...finding }: Finding) {
  return {
    ...finding,
    since: isoTime(finding.since),
    last_seen: isoTime(finding.last_seen),
    resolved_at: isoTimeOrNull(finding.resolved_at),
  }
}
