// When machines last asked a repository, from the access logs.
import { sql } from 'kysely'
import type { Db } from '../../store/db.ts'

/** @param seen seconds since 1970, by the name of the machine */
export async function machinesSeen(db: Db, seen: ReadonlyMap<string, number>): Promise<void> {
  if (seen.size === 0) return
  await sql`update machines set last_seen = to_timestamp(t.at)
    from unnest(${[...seen.keys()]}::text[], ${[...seen.values()]}::bigint[]) as t (name, at)
    where lower(machines.name) = lower(t.name) and revoked_at is null
      and (last_seen is null or last_seen < to_timestamp(t.at))`.execute(db)
}
