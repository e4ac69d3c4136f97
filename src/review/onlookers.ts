// Who looks at a package under review at the moment, so that two people do not decide about the same one. The rows are in the
// database, because people use several replicas, and count for a short time only: nobody has to take them back.
import { sql } from 'kysely'
import type { Db } from '../store/db.ts'

/** How long a person counts after the last call. */
export const PRESENT_MS = 45_000
/** Names that are told. */
const MOST_TOLD = 20
/** Rows of the past that a call deletes. */
const MOST_DELETED = 100

/** Notes that this person looks at the record. @returns the names of the others who do, in their order */
export async function lookAt(db: Db, packageId: number, username: string, now: Date): Promise<string[]> {
  const since = new Date(now.getTime() - PRESENT_MS)
  await sql`delete from onlookers o using (
      select package_id, username from onlookers where seen_at < ${since} order by seen_at limit ${MOST_DELETED}
      for update skip locked) past
    where o.package_id = past.package_id and o.username = past.username`.execute(db)
  // A record that is gone meanwhile has no onlookers.
  await sql`insert into onlookers (package_id, username, seen_at)
    select id, ${username}, ${now}::timestamptz from packages where id = ${packageId}::bigint for key share
    on conflict (package_id, username) do update set seen_at = excluded.seen_at`.execute(db)
  const others = await db
    .selectFrom('onlookers')
    .select('username')
    .where('package_id', '=', packageId)
    .where('username', '!=', username)
    .where('seen_at', '>=', since)
    .orderBy('username')
    .limit(MOST_TOLD)
    .execute()
  return others.map((one) => one.username)
}
