// One advisory: what it is, who has it here, and what was decided about it.
import { mayAccess } from '../../domain/roles.ts'
import type { Placed } from '../../formats/intake-format.ts'
import { isoTime, type Clock } from '../../kernel/clock.ts'
import {
  affectedPage,
  decisionsAbout,
  idsOf,
  soundBeside,
  worstFinding,
  type AffectedRow,
} from '../../packages/records/advisory-query.ts'
import { scannedPackages } from '../../packages/records/review-query.ts'
import { decisionOf } from '../../review/decisions.ts'
import type { Db } from '../../store/db.ts'
import { advisoryId } from '../../store/records/search-text.ts'
import { handle, type Route } from '../http/route.ts'
import { page } from '../http/schemas.ts'
import { getSecurityAdvisoriesId } from './advisory.contract.ts'

export interface AdvisoryDeps {
  db: Db
  clock: Clock
  offered(codename: string): Placed
}

export function securityAdvisoryRoutes(deps: AdvisoryDeps): Route[] {
  const { db, clock } = deps

  /** For each row the newest version that does not have the finding; null where none is newer than the row's own. */
  async function fixesOf(rows: readonly AffectedRow[]): Promise<(string | null)[]> {
    const sound = await soundBeside(db, rows)
    return rows.map(({ distribution, version }, n) => {
      const { compare } = deps.offered(distribution).format.versions
      const newest = sound[n]!.reduce((best, one) => (compare(one, best) > 0 ? one : best), version)
      return newest === version ? null : newest
    })
  }

  return [
    handle(getSecurityAdvisoriesId, async ({ params, query, caller }) => {
      const id = advisoryId(params.id)
      const ids = await idsOf(db, id)
      const worst = ids.length === 0 ? null : await worstFinding(db, ids)
      const { rows, total, ...totals } = await affectedPage(db, ids, { page: query.page, perPage: query.per_page })
      const fixes = await fixesOf(rows)
      const decisions = mayAccess(caller.role, 'auditor+') ? await decisionsAbout(db, [id, ...ids]) : null
      return {
        ...page(
          rows.map((row, n) => affectedOf(row, fixes[n]!)),
          total,
          query,
        ),
        id,
        stands_for: ids,
        aliases: worst?.finding.aliases ?? [],
        severity: worst?.severity ?? null,
        cvss: worst?.finding.cvss ?? null,
        description: worst?.finding.description ?? null,
        urls: worst?.finding.urls ?? [],
        epss: totals.epss,
        in_kev: totals.in_kev,
        served_total: totals.served,
        fixed_total: totals.fixed,
        accepted_total: totals.decided,
        packages_scanned: await scannedPackages(db),
        decisions: decisions && decisions.map((decision) => decisionOf(decision, clock.now())),
      }
    }),
  ]
}

function affectedOf({ finding, cve, first_seen, ...row }: AffectedRow, fixedHere: string | null) {
  return {
    advisory: cve,
    name: row.name,
    version: row.version,
    arch: row.arch,
    distribution: row.distribution,
    status: row.status,
    served: row.served,
    severity: finding.severity,
    fix_state: finding.fix_state,
    fix_versions: finding.fix_versions,
    fixed_here: fixedHere,
    accepted_by_decision: finding.accepted_by_decision,
    first_seen: isoTime(first_seen),
  }
}
