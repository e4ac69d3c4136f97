// The growth of the pool and of the findings: a sample of each day, taken from counters. The last sample of a day counts.
import { sql } from 'kysely'
import { DAY_MS } from '../../domain/durations.ts'
import type { SeverityCounts } from '../../domain/finding.ts'
import type { Clock } from '../../kernel/clock.ts'
import { severitySummary } from '../../packages/records/review-query.ts'
import type { Db } from '../../store/db.ts'

export interface PoolDay {
  /** published and waiting for a decision */
  packages: number
  /** of all stored records; bytes that two distributions share count twice, as in `/dashboard/stats` */
  bytes: number
  /** of all records, by severity; null when the build of that day did not count them */
  findings: SeverityCounts | null
}

export interface PoolGrowth {
  /** Replaces today's sample, and deletes days that nobody can request any more. */
  sample(): Promise<void>
  /** Samples by day (UTC, `2026-03-01`) since `first`; days on which nothing ran are missing, today is always included. */
  since(first: string): Promise<Map<string, PoolDay>>
}

/** More than the year that `/dashboard/history` may show. */
const KEPT_DAYS = 400

export function createPoolGrowth({ db, clock }: { db: Db; clock: Clock }): PoolGrowth {
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)

  async function now(): Promise<PoolDay> {
    const amounts = await db
      .selectFrom('distributions')
      .select([
        sql<number>`coalesce(sum(published_count + pending_count), 0)::float8`.as('packages'),
        sql<number>`coalesce(sum(size_bytes), 0)::float8`.as('bytes'),
      ])
      .executeTakeFirstOrThrow()
    return { ...amounts, findings: await severitySummary(db, {}) }
  }

  return {
    async sample() {
      const today = clock.now().getTime()
      const { findings, ...held } = await now()
      const amounts = { ...held, findings: JSON.stringify(findings) }
      await db
        .insertInto('pool_days')
        .values({ day: dayOf(today), ...amounts })
        .onConflict((conflict) => conflict.column('day').doUpdateSet(amounts))
        .execute()
      await db
        .deleteFrom('pool_days')
        .where('day', '<', dayOf(today - KEPT_DAYS * DAY_MS))
        .execute()
    },
    async since(first) {
      const rows = await db.selectFrom('pool_days').selectAll().where('day', '>=', first).execute()
      const days = new Map(rows.map(({ day, ...held }) => [day, held]))
      return days.set(dayOf(clock.now().getTime()), await now())
    },
  }
}
