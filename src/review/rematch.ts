// Matches stored packages against the advisories that changed; other packages cost nothing.
import { sql } from 'kysely'
import type { Distribution } from '../domain/package.ts'
import type { TaskProgress } from '../domain/tasks.ts'
import type { Evidence, Found } from '../domain/evidence.ts'
import type { Finding } from '../domain/finding.ts'
import { seenBy } from '../gate/cve-scan.ts'
import { isoTime } from '../kernel/clock.ts'
import type { PackageRow } from '../store/tables.ts'
import { factsOf } from './deps.ts'
import { matchComponents, matchWhere, noReport, type MatchDeps, type RematchReport } from './match-records.ts'
import { mergeFindings } from './merge.ts'
import { rematchChanged, type RematchDeps } from './rematch-changed.ts'

export interface Rematch {
  /**
   * Matches the packages whose advisories changed. If one cannot be matched, the next run matches all of them again: the
   * generation is stored only after a run without failures. An interrupted run continues from its cursor. The task ensures
   * that only one run is active.
   */
  changed(context: TaskProgress): Promise<RematchReport>
  /** Whether advisories changed since the last complete run, and since the last run of this process. */
  isDue(): Promise<boolean>
  /** Matches the packages that have this CVE among their findings. */
  about(cve: string): Promise<RematchReport>
  /** Matches the records that were being stored while newer advisories came into force (`packages/records/evidence`). */
  behind(): Promise<RematchReport>
  /** The evidence about a published record in the distribution it is copied to. The current policy judges all of it. */
  evidenceThere(source: PackageRow, target: Distribution): Promise<Evidence>
}

export function createRematch(deps: RematchDeps): Rematch {
  /** the generation that this process matched last, perhaps with failures */
  let tried: number | null = null
  return {
    async changed(context) {
      const { report, generation } = await rematchChanged(deps, context)
      tried = generation
      return report
    },
    async isDue() {
      const current = await deps.news.current()
      return current !== tried && current !== (await deps.news.seen())
    },
    async about(cve) {
      const report = noReport()
      await matchWhere(deps, sql`id in (select package_id from findings where cve = ${cve})`, report)
      await matchComponents(deps, await deps.components.about(cve), report)
      return report
    },
    async behind() {
      const report = noReport()
      const behind = sql`select e.package_id from evidence e join packages p on p.id = e.package_id
        where e.behind and e.replaced_at is null and p.status <> 'rejected'`
      // Nearly always one lookup in an empty index.
      const { rows } = await behind.execute(deps.db)
      if (rows.length > 0) await matchWhere(deps, sql`id in (${behind})`, report)
      return report
    },
    evidenceThere: (source, target) => evidenceFor(deps, source, target),
  }
}

async function evidenceFor(deps: MatchDeps, source: PackageRow, distribution: Distribution): Promise<Evidence> {
  // As at an upload: a scan that is switched off holds nothing.
  if (!deps.settings().validation.grype_scan) return { checks: [] }
  const now = deps.clock.now()
  const known = (source.cve_results ?? []) as Finding[]
  const scan = await deps.scanner.scan({ facts: factsOf(source), distribution })
  const isScanned = scan.result === 'scanned'
  const seen = { engine: deps.scanner.name, findings: scan.findings }
  const all = isScanned ? mergeFindings(known, seen, deps.engines, isoTime(now)) : known
  const findings = all.map(({ action: _, ...found }): Found => found)
  if (isScanned) return { checks: [seenBy(scan, now)], findings }
  return { checks: [], ...(source.cve_results ? { findings } : {}) }
}
