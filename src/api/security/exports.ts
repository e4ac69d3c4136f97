// Lists of /security as files.
import type { Clock } from '../../kernel/clock.ts'
import { decisionsBefore } from '../../packages/records/decision-query.ts'
import { findingsAfter, type VulnerabilityRow } from '../../packages/records/vulnerability-query.ts'
import { decisionOf } from '../../review/decisions.ts'
import type { Db } from '../../store/db.ts'
import type { DecisionRow } from '../../store/tables.ts'
import { allPages, linesOf, sendLines } from '../http/export.ts'
import { handle, type Route } from '../http/route.ts'
import { getSecurityDecisionsExport, getSecurityVulnerabilitiesExport } from './exports.contract.ts'
import { packageFindingOf, vulnerabilityFilter } from './listing.ts'

const FINDING_COLUMNS = [
  ...(['id', 'severity', 'cvss', 'epss', 'in_kev', 'package', 'version', 'arch', 'distribution', 'status'] as const),
  ...(['served', 'fix_state', 'fix_versions', 'action', 'accepted_by_decision', 'first_seen'] as const),
]
const DECISION_COLUMNS = [
  ...(['id', 'package', 'version', 'arch', 'distribution', 'action', 'cve_ids', 'justification'] as const),
  ...(['decided_by', 'decided_at', 'expires_at', 'active', 'target_version', 'assigned_to'] as const),
  ...(['resolved_by', 'resolved_at', 'resolution_note', 'sha256'] as const),
]

export function securityExportRoutes({ db, clock }: { db: Db; clock: Clock }): Route[] {
  return [
    handle(getSecurityVulnerabilitiesExport, async ({ query: { as, ...query }, reply }) => {
      const filter = vulnerabilityFilter(query)
      const pages = allPages<VulnerabilityRow>((after, most) => findingsAfter(db, filter, after, most))
      return sendLines(reply, 'vulnerabilities', as, linesOf(as, FINDING_COLUMNS, pages, packageFindingOf))
    }),
    handle(getSecurityDecisionsExport, async ({ query: { as, assigned_to: assignedTo, ...query }, reply }) => {
      const filter = { ...query, assignedTo }
      const pages = allPages<DecisionRow>((before, most) => decisionsBefore(db, filter, before, most))
      const shown = (row: DecisionRow) => decisionOf(row, clock.now())
      return sendLines(reply, 'decisions', as, linesOf(as, DECISION_COLUMNS, pages, shown))
    }),
  ]
}
