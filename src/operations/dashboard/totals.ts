// Number of packages, from the counters in each distribution's row; never a table scan.
import type { Db } from '../../store/db.ts'
import type { Totals } from '../monitoring/package-metrics.ts'

export async function readTotals(db: Db): Promise<Totals> {
  const rows = await db
    .selectFrom('distributions')
    .select(['published_count', 'pending_count', 'quarantined_count'])
    .execute()
  const sum = (pick: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + pick(row), 0)
  return {
    packages: sum((row) => row.published_count + row.pending_count),
    pendingReview: sum((row) => row.pending_count),
    quarantined: sum((row) => row.quarantined_count),
  }
}
