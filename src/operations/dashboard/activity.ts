// Activity of each day, counted once from the audit chain. The counts are kept when the entries are removed.
import { sql } from 'kysely'
import { DAY_MS } from '../../domain/durations.ts'
import type { Clock } from '../../kernel/clock.ts'
import { createShared } from '../../kernel/shared.ts'
import type { Db } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'

export interface DayActivity {
  /** UTC, `2026-03-01` */
  date: string
  /** packages that arrived */
  imports: number
  /** packages that were refused, quarantined or rejected on arrival */
  failures: number
  decisions: number
  /** packages that the gate, a rescan or a re-match judged */
  cve_scans: number
}

export interface Activity {
  /** Counts the chained entries that were not counted yet; callers that arrive together share one run. */
  catchUp(): Promise<void>
  /** The last days up to today, oldest first; days without an entry have zeros. */
  history(days: number): Promise<DayActivity[]>
}

/** Entries counted in one transaction. */
const BATCH = 5_000

export function createActivity({ db, clock }: { db: Db; clock: Clock }): Activity {
  /** @returns whether there may be more */
  async function countSome(): Promise<boolean> {
    return transaction(db, async (tx) => {
      await sql`insert into activity_cursor (id, seq) values (1, 0) on conflict (id) do nothing`.execute(tx)
      const { seq: after } = await tx
        .selectFrom('activity_cursor')
        .select('seq')
        .where('id', '=', 1)
        .forUpdate()
        .executeTakeFirstOrThrow()
      const { rows } = await sql<{ seq: number | null; n: number }>`
        with batch as (
          select seq, action, result, outcome, to_char(at at time zone 'UTC', 'YYYY-MM-DD') as day
          from audit where seq > ${after} order by seq limit ${BATCH}
        ), added as (
          insert into activity_days (day, imports, failures, decisions, cve_scans)
          select day,
            count(*) filter (where action in ('UPLOAD', 'IMPORT') and result <> 'FAILURE'),
            count(*) filter (where action in ('UPLOAD', 'IMPORT') and result = 'FAILURE'),
            count(*) filter (where action = 'SECURITY_DECISION' and result = 'SUCCESS' and outcome is distinct from 'assigned'),
            count(*) filter (where action in ('RESCAN', 'CVE_REMATCH')
              or action in ('UPLOAD', 'IMPORT') and outcome in ('published', 'pending_review', 'quarantined'))
          from batch group by day order by day
          on conflict (day) do update set imports = activity_days.imports + excluded.imports,
            failures = activity_days.failures + excluded.failures,
            decisions = activity_days.decisions + excluded.decisions,
            cve_scans = activity_days.cve_scans + excluded.cve_scans
        )
        select max(seq) as seq, count(*)::int as n from batch`.execute(tx)
      const { seq, n } = rows[0] ?? { seq: null, n: 0 }
      if (seq === null) return false
      await tx.updateTable('activity_cursor').set({ seq }).where('id', '=', 1).execute()
      return n === BATCH
    })
  }

  return {
    catchUp: createShared(async () => {
      while (await countSome());
    }),
    async history(days) {
      const today = Date.parse(clock.now().toISOString().slice(0, 10))
      const dates = Array.from({ length: days }, (_, i) =>
        new Date(today - (days - 1 - i) * DAY_MS).toISOString().slice(0, 10),
      )
      const rows = await db
        .selectFrom('activity_days')
        .selectAll()
        .where('day', '>=', dates[0] as string)
        .execute()
      const byDay = new Map(rows.map(({ day, ...counts }) => [day, counts]))
      const none = { imports: 0, failures: 0, decisions: 0, cve_scans: 0 }
      return dates.map((date) => ({ date, ...(byDay.get(date) ?? none) }))
    },
  }
}
