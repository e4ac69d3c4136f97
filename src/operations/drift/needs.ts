// Where the bytes of stored files must be, according to the current rows of the database.
import { sql } from 'kysely'
import type { FormatId } from '../../domain/package.ts'
import type { Db } from '../../store/db.ts'

/** One stored file. If both places are false, nothing refers to it any more. */
export interface Need {
  sha256: string
  format: FormatId
  filename: string
  size_bytes: number
  pool: boolean
  quarantine: boolean
  /** token of the last removal of its bytes */
  removal_token: string | null
  removing: boolean
}

/** The same rule as `placeBytes` (store/files/placement). */
const NEED = sql`b.sha256, b.format, b.filename, b.size_bytes, b.removal_token,
  b.removal_token is not null and b.removal_ended_at is null as removing,
  exists (select from packages p where p.sha256 = b.sha256 and p.status not in ('quarantined', 'rejected'))
    or exists (select from offers o where o.sha256 = b.sha256 and o.keeps_bytes) as pool,
  exists (select from packages p where p.sha256 = b.sha256 and p.status in ('quarantined', 'rejected')) as quarantine`

export async function needsAfter(db: Db, after: string, limit: number): Promise<Need[]> {
  const { rows } = await sql<Need>`
    select ${NEED} from blobs b where b.sha256 > ${after} order by b.sha256 limit ${limit}`.execute(db)
  return rows
}

export async function needsOf(db: Db, digests: readonly string[]): Promise<Map<string, Need>> {
  const { rows } = await sql<Need>`select ${NEED} from blobs b where b.sha256 = any(${digests}::text[])`.execute(db)
  return new Map(rows.map((row) => [row.sha256, row]))
}

/** Files last compared with their digest before this time, the oldest comparison first. */
export async function oldestVerified(db: Db, before: Date, limit: number): Promise<Need[]> {
  const { rows } = await sql<Need>`
    select ${NEED} from blobs b where b.verified_at < ${before}::timestamptz order by b.verified_at, b.sha256
    limit ${limit}`.execute(db)
  return rows
}

export interface Placed {
  need: Need | null
  /** whether a pending deletion will move or remove the bytes */
  isPending: boolean
  /** a record that the file belongs to */
  record: { id: number; name: string; version: string; distribution: string } | null
}

/** The need of one stored file, and whether somebody is about to change it. */
export async function placedNow(db: Db, sha256: string): Promise<Placed> {
  const pending = await db
    .selectFrom('pending_deletions')
    .select('id')
    .where('kind', '=', 'file')
    .where('key', '=', sha256)
    .limit(1)
    .executeTakeFirst()
  const need = (await needsOf(db, [sha256])).get(sha256) ?? null
  const record = await db
    .selectFrom('packages')
    .select(['id', 'name', 'version', 'distribution'])
    .where('sha256', '=', sha256)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return { need, isPending: pending !== undefined, record: record ?? null }
}
