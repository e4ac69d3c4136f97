// /dashboard: what people see first, without names of users for those who may not read the audit log.
import { mayAccess } from '../../domain/roles.ts'
import type { Dashboard } from '../../operations/dashboard/dashboard.ts'
import type { AuditEntry } from '../../audit/chain.ts'
import { newestEntries } from '../../audit/audit-query.ts'
import type { Db } from '../../store/db.ts'
import {
  getDashboardEvents,
  getDashboardHistory,
  getDashboardStats,
  getDashboardSummary,
} from './dashboard.contract.ts'
import { streamDashboard, type DashboardStreamDeps } from './stream.ts'
import { handle, type Route } from '../http/route.ts'
import { createOpenStreams } from '../http/sse.ts'

export interface DashboardRouteDeps extends DashboardStreamDeps {
  db: Db
  dashboard: Dashboard
  audit: { flush(): Promise<void> }
}

/** Entries in the summary. */
const RECENT = 20

/** Actions about packages, which every role may see. */
export const PACKAGE_ACTIONS: readonly string[] = [
  ...['UPLOAD', 'IMPORT', 'DELETE', 'PROMOTE', 'MIGRATE', 'QUARANTINE'],
  ...['SECURITY_DECISION', 'DECISION_RESOLVED', 'DECISION_UNDONE', 'RESCAN', 'CVE_REMATCH', 'SLA_EXPIRED'],
]

export function dashboardRoutes(deps: DashboardRouteDeps): Route[] {
  const { db, dashboard, audit } = deps
  const openOne = createOpenStreams()
  return [
    handle(getDashboardSummary, async ({ caller }) => {
      await audit.flush()
      const mayReadAll = mayAccess(caller.role, 'auditor+')
      const entries = await newestEntries(db, mayReadAll ? null : PACKAGE_ACTIONS, RECENT)
      const recent_activity = mayReadAll ? entries : entries.map(withoutPeople)
      return { ...(await dashboard.summary()), recent_activity }
    }),
    handle(getDashboardStats, async ({ caller }) => {
      const stats = await dashboard.stats()
      if (mayAccess(caller.role, 'auditor+')) return stats
      return { ...stats, recent_imports: stats.recent_imports.map((one) => ({ ...one, imported_by: null })) }
    }),
    handle(getDashboardHistory, async ({ query: { days } }) => ({ history: await dashboard.history(days), days })),
    handle(getDashboardEvents, async ({ caller, raw, reply }) => {
      const closed = openOne(caller.principal)
      await streamDashboard(deps, raw, reply).finally(closed)
      return undefined
    }),
  ]
}

/** What happened to which package; details and justifications may name people. */
function withoutPeople(entry: AuditEntry): AuditEntry {
  const { timestamp, action, result, version, distribution, arch, outcome, seq } = entry
  return {
    ...{ timestamp, action, result, user: null, package: entry.package, version, distribution, arch },
    ...{ detail: null, outcome, ip: null, request_id: null, extra: {} },
    ...{ prev_hash: null, hash: null, seq, mac: null },
  }
}
