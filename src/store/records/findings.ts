// Findings as rows beside `packages.cve_results`, and the counters pages are told by. Everything here runs in the transaction of the change.
import { sql } from 'kysely'
import { riskOf, severityBits, worstRisk } from '../../domain/risk.ts'
import type { Finding } from '../../domain/finding.ts'
import type { Db } from '../db.ts'
import type { PackageRow } from './manifests.ts'

/**
 * Takes records into the counters (1) or out of them (-1), as they are at this moment. Every change of a record's status,
 * scan or findings lies between a -1 and a 1; both under the distribution's row lock, so that sums are never lost.
 */
export async function tally(tx: Db, ids: readonly number[], by: 1 | -1): Promise<void> {
  await sql`with counted as (
      insert into package_counts (distribution, status, cve_status, scanned, severities, n)
      select distribution, status, coalesce(cve_status, ''), last_scan is not null, severities, ${by}::bigint * count(*)
      from packages where id = any(${ids}::bigint[]) group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
      on conflict (distribution, status, cve_status, scanned, severities) do update set n = package_counts.n + excluded.n
    )
    insert into finding_counts (distribution, status, severity, fix_state, n)
    select p.distribution, p.status, f.severity, f.fix_state, ${by}::bigint * count(*)
    from findings f join packages p on p.id = f.package_id where p.id = any(${ids}::bigint[])
    group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (distribution, status, severity, fix_state) do update set n = finding_counts.n + excluded.n`.execute(tx)
}

/** Makes the rows of a record say what its `cve_results` say. To be called while it is out of the counters. */
export async function storeFindings(
  tx: Db,
  row: Pick<PackageRow, 'id' | 'distribution' | 'cve_results' | 'severities'>,
): Promise<void> {
  const findings = (row.cve_results ?? []) as Finding[]
  if (findings.length === 0 && row.severities === 0) return
  await tx.deleteFrom('findings').where('package_id', '=', row.id).execute()
  const rows = findings.map((finding) => ({ ...finding, cve: finding.id, risk: riskOf(finding), finding }))
  await sql`insert into findings (package_id, cve, distribution, severity, fix_state, action, in_kev, epss, first_seen, risk, finding)
    select ${row.id}::bigint, cve, ${row.distribution}, severity, fix_state, action, in_kev, epss, first_seen, risk, finding
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as f (cve text, severity text, fix_state text, action text,
      in_kev boolean, epss float8, first_seen timestamptz, risk int, finding jsonb)`.execute(tx)
  await tx
    .updateTable('packages')
    .set({ severities: severityBits(findings), risk: worstRisk(findings) })
    .where('id', '=', row.id)
    .execute()
}

/** Counts everything anew: what a repair needs, and what a test compares with. */
export async function recount(db: Db): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`lock table packages, findings in share row exclusive mode`.execute(tx)
    await tx.deleteFrom('package_counts').execute()
    await tx.deleteFrom('finding_counts').execute()
    await sql`insert into package_counts (distribution, status, cve_status, scanned, severities, n)
      select distribution, status, coalesce(cve_status, ''), last_scan is not null, severities, count(*) from packages group by 1, 2, 3, 4, 5`.execute(
      tx,
    )
    await sql`insert into finding_counts (distribution, status, severity, fix_state, n)
      select p.distribution, p.status, f.severity, f.fix_state, count(*) from findings f join packages p on p.id = f.package_id
      group by 1, 2, 3, 4`.execute(tx)
  })
}
