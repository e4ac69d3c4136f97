// Counts that lists and the health report show, kept by the transactions that change what is counted.
import { sql } from 'kysely'
import type { Db } from '../../store/db.ts'

/**
 * Adds records to the counters (1) or subtracts them (-1), with their present status, scan and findings. Every change of
 * status, scan or findings is made between a -1 and a 1, under the row lock of the distribution, so that no update is lost.
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

/** Number of records in all distributions. */
export async function countRecords(db: Db): Promise<number> {
  const row = await db
    .selectFrom('distributions')
    .select(
      sql<number>`coalesce(sum(published_count + pending_count + quarantined_count + rejected_count), 0)::int`.as('n'),
    )
    .executeTakeFirstOrThrow()
  return row.n
}
