// The findings of a record as rows, beside `packages.cve_results`. Runs in the transaction of the change.
import { sql } from 'kysely'
import { riskOf, severityBits, worstRisk } from '../../domain/risk.ts'
import type { Finding } from '../../domain/finding.ts'
import type { Db } from '../db.ts'
import type { PackageRow } from '../tables.ts'

/** Replaces the finding rows of a record by its `cve_results`. Call it between `tally(-1)` and `tally(1)`. */
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
