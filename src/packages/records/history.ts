// The past of distributions: which publications are kept, and what happens to offers that only older ones name.
import { sql } from 'kysely'
import { DAY_MS } from '../../domain/durations.ts'
import { isRepository } from '../../domain/repositories.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Db } from '../../store/db.ts'
import { lockDistributions } from './lock-order.ts'
import { transaction } from '../../store/transaction.ts'

/** Rows deleted in one transaction. */
const BATCH = 500

export interface History {
  /**
   * Hourly: deletes publications that are older than the kept days, except the one that was live when these days began,
   * and the offers that no kept publication names. Deletes the bytes of their files unless something else needs them.
   */
  prune(): Promise<void>
}

/** @param deps.days how many days of the past are kept */
export function createHistory(deps: { db: Db; clock: Clock; days(): number }): History {
  const { db } = deps

  async function pruneOne(codename: string, horizon: Date): Promise<void> {
    await sql`delete from publications where distribution = ${codename} and (published_at, revision) <
      (select published_at, revision from publications where distribution = ${codename} and published_at < ${horizon}
        order by published_at desc, revision desc limit 1)`.execute(db)
    while ((await pruneOffers(codename)) === BATCH);
  }

  /** @returns the number of deleted offers */
  async function pruneOffers(codename: string): Promise<number> {
    return transaction(db, async (tx) => {
      // A refusal changes earlier offers under this lock.
      await lockDistributions(tx, [codename])
      const { rows } = await sql<{ sha256: string; until: number }>`
        with gone as (
          select package_id, from_revision from offers where distribution = ${codename} and unlink_at is null
            and until_revision <= (select min(revision) from publications where distribution = ${codename})
          order by until_revision limit ${BATCH}
        )
        delete from offers using gone where offers.package_id = gone.package_id and offers.from_revision = gone.from_revision
        returning sha256, until_revision as until`.execute(tx)
      if (rows.length === 0) return 0
      // An older index in memory can no longer be continued.
      const floor = Math.max(...rows.map((row) => row.until))
      await sql`update distributions set history_floor = greatest(history_floor, ${floor}::bigint)
        where codename = ${codename}`.execute(tx)
      await sql`insert into pending_deletions (kind, key)
        select 'file', sha256 from unnest(${[...new Set(rows.map((row) => row.sha256))]}::text[]) as sha256
        where not exists (select from packages p where p.sha256 = sha256.sha256)
          and not exists (select from offers o where o.sha256 = sha256.sha256)`.execute(tx)
      return rows.length
    })
  }

  /** Repositories have no publications that could be asked for again. */
  const forgetEnded = (repository: string) =>
    db
      .deleteFrom('offers')
      .where('distribution', '=', repository)
      .where('until_revision', 'is not', null)
      .where('unlink_at', '<', deps.clock.now())
      .execute()

  return {
    async prune() {
      const horizon = new Date(deps.clock.now().getTime() - deps.days() * DAY_MS)
      const distributions = await db.selectFrom('distributions').select('codename').execute()
      for (const { codename } of distributions)
        await (isRepository(codename) ? forgetEnded(codename) : pruneOne(codename, horizon))
    },
  }
}
