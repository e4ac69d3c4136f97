// The findings of a record as rows, beside `packages.cve_results`. Runs in the transaction of the change.
import { sql } from 'kysely'
import { looksLikeCve } from '../../domain/advisory-id.ts'
import { riskOf, severityBits, worstRisk } from '../../domain/risk.ts'
import type { Finding } from '../../domain/finding.ts'
import type { Db } from '../../store/db.ts'
import type { PackageRow } from '../../store/tables.ts'

/** The findings of a record, as its row has them. */
export const findingsOf = ({ cve_results: findings }: Pick<PackageRow, 'cve_results'>) => (findings ?? []) as Finding[]

/**
 * Replaces the finding rows of a record by its `cve_results`. Call it between `tally(-1)` and `tally(1)`.
 * @param before the record's `severities`; 0 when it has no finding rows
 */
export async function storeFindings(
  tx: Db,
  { id, distribution }: Pick<PackageRow, 'id' | 'distribution'>,
  findings: readonly Finding[],
  before: number,
): Promise<void> {
  if (findings.length === 0 && before === 0) return
  await tx.deleteFrom('findings').where('package_id', '=', id).execute()
  const rows = findings.map((finding) => ({ ...finding, cve: finding.id, risk: riskOf(finding), finding }))
  await sql`insert into findings (package_id, cve, distribution, severity, fix_state, action, in_kev, epss, first_seen, risk, finding)
    select ${id}::bigint, cve, ${distribution}, severity, fix_state, action, in_kev, epss, first_seen, risk, finding
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as f (cve text, severity text, fix_state text, action text,
      in_kev boolean, epss float8, first_seen timestamptz, risk int, finding jsonb)`.execute(tx)
  const names = findings.flatMap(({ id: cve, aliases = [] }) =>
    [...new Set([...aliases, ...(looksLikeCve(cve) ? [] : [cve])].map((name) => name.toUpperCase()))].map((name) => ({
      cve,
      name,
    })),
  )
  if (names.length > 0)
    await sql`insert into finding_names (package_id, cve, name)
      select ${id}::bigint, cve, name from jsonb_to_recordset(${JSON.stringify(names)}::jsonb) as n (cve text, name text)`.execute(
      tx,
    )
  await tx
    .updateTable('packages')
    .set({ severities: severityBits(findings), risk: worstRisk(findings) })
    .where('id', '=', id)
    .execute()
}

/**
 * Replaces the scores of finding rows and changes nothing else. Call it between `tally(-1)` and `tally(1)`.
 * @param findings all findings of the record, with the new scores
 */
export async function storeScores(tx: Db, id: number, findings: readonly Finding[]): Promise<void> {
  const rows = findings.map((finding) => ({ cve: finding.id, epss: finding.epss, risk: riskOf(finding), finding }))
  await sql`update findings f set epss = s.epss, risk = s.risk, finding = s.finding
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as s (cve text, epss float8, risk int, finding jsonb)
    where f.package_id = ${id}::bigint and f.cve = s.cve and f.finding <> s.finding`.execute(tx)
  await tx
    .updateTable('packages')
    .set({ cve_results: JSON.stringify(findings), risk: worstRisk(findings) })
    .where('id', '=', id)
    .execute()
}
