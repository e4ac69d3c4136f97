// Removes downloads of days that are too old, in small transactions.
import { sql } from 'kysely'
import { DAY_MS } from '../../domain/durations.ts'
import type { Db } from '../db.ts'
import { transaction } from '../transaction.ts'
import { lockDownloads } from './logs.ts'

/** Rows deleted in one transaction. */
const TOGETHER = 5000

/** Number of rows to be removed that name a client. */
export async function countOldDownloads(db: Db, firstDay: number): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*)::int as n from download_file_days n
    join downloads d on d.file_id = n.file_id and d.day = n.day where n.day < ${firstDay}`.execute(db)
  return rows[0]?.n ?? 0
}

/**
 * Removes everything about days before this one: who downloaded which files, counters, and clients, user agents and names that
 * no row refers to any more. Can be repeated after a crash at any line.
 * @returns number of removed rows that named a client
 */
export async function removeOldDownloads(db: Db, firstDay: number, signal: AbortSignal): Promise<number> {
  const repeated = async (work: () => Promise<number>): Promise<number> => {
    let all = 0
    for (;;) {
      signal.throwIfAborted()
      const n = await work()
      all += n
      if (n < TOGETHER) return all
    }
  }
  // A process that counts downloads at the same time must not use rows that are deleted here.
  const deleted = async (statement: ReturnType<typeof sql>) =>
    transaction(db, async (tx) => {
      await lockDownloads(tx)
      return Number((await statement.execute(tx)).numAffectedRows ?? 0)
    })
  // The counters of the files tell which rows are left to delete, so they are deleted last.
  let facts = 0
  for (;;) {
    const { rows } = await sql<{ day: number; file_id: number }>`select day, file_id from download_file_days
      where day < ${firstDay} order by day, file_id limit 500`.execute(db)
    if (rows.length === 0) break
    const [days, files] = [rows.map(({ day }) => day), rows.map(({ file_id }) => file_id)]
    const these = sql`(select * from unnest(${days}::int[], ${files}::bigint[]) as t (day, file_id))`
    facts += await repeated(() =>
      deleted(sql`delete from downloads where (package_id, client_id, file_id, day, agent_id) in (
        select d.package_id, d.client_id, d.file_id, d.day, d.agent_id from ${these} t
        join downloads d on d.file_id = t.file_id and d.day = t.day limit ${TOGETHER})`),
    )
    await deleted(sql`delete from download_file_days where (day, file_id) in ${these}`)
  }
  const removeIn = (table: string, key: string, condition: ReturnType<typeof sql>) =>
    repeated(() =>
      deleted(sql`delete from ${sql.table(table)} where (${sql.raw(key)}) in (
        select ${sql.raw(key)} from ${sql.table(table)} where ${condition} limit ${TOGETHER})`),
    )
  // A large repository has tens of thousands of packages a day: deleting 300 days at once exceeded the limit of a statement.
  await removeIn('download_package_days', 'day, package_id', sql`day < ${firstDay}`)
  await removeIn('download_days', 'counted, day', sql`day < ${firstDay}`)
  await removeIn('recent_downloads', 'id', sql`at < ${new Date(firstDay * DAY_MS)}`)
  // No row refers to a file that was only downloaded before this day.
  for (const table of ['download_clients', 'download_agents', 'download_files', 'download_packages'])
    await removeIn(table, 'id', sql`last_day < ${firstDay} order by last_day`)
  // If nothing was appended to a log since then, all its lines are too old to count.
  await deleted(sql`delete from download_logs where seen_at < ${new Date((firstDay - 2) * DAY_MS)}`)
  return facts
}
