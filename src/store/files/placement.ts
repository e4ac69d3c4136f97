// Where the bytes of stored files belong: pool, quarantine or neither. Removes them from where they do not.
//
// Bytes are added and removed outside transactions. The file's row in `blobs` orders these steps:
//  - A removal first claims the row in a transaction that finds no need for the bytes, then removes them, then
//    marks the claim as ended. The row stays for an hour with the removal's token.
//  - An insert (`with-bytes`) puts the bytes in place first. Its transaction locks the row. If the row has a token that the
//    insert has not seen, the bytes may have been removed since: it rolls back, waits for the end of the removal, puts the
//    bytes in place again and repeats the transaction.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { FormatId } from '../../domain/package.ts'
import { Problem } from '../../domain/problem.ts'
import { isRefused } from '../../domain/transitions.ts'
import type { Db } from '../db.ts'
import { transaction } from '../transaction.ts'
import { RemovalUncertain } from '../objects/object-store.ts'
import type { Pool } from './pool.ts'

/** A claim is void after this time, because its process must be dead. The remover itself stops at half of it. */
const CLAIM_SECONDS = 10
/**
 * How long a removal that the store did not answer may still reach it. A delay on the way (a proxy, a broken network)
 * cannot be longer: a store refuses requests that were signed more than 15 minutes ago
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html, RequestTimeTooSkewed). Another minute allows for the
 * difference of the clocks and for the execution of the removal.
 */
const UNCERTAIN_SECONDS = 16 * 60
/** When a caller should try again whose bytes may still be removed. */
const UNCERTAIN_RETRY_SECONDS = 60
const POLL_MS = 10
/** How long the row of a removed file is kept; an insert takes seconds from its check of the bytes to its commit. */
const TOMBSTONE_SECONDS = 3600

/** Advisory lock: claims of removals share it; a backup that begins to hold removals takes it exclusively. */
export const LOCK_REMOVALS = 0x6768_0001

/**
 * @returns the token of the last removal, once it has ended; null when there is no row any more
 * @throws Problem('storage_unavailable') for a removal that the store did not answer
 */
export async function removalEnded(db: Db, sha256: string): Promise<string | null> {
  for (;;) {
    const row = await db
      .selectFrom('blobs')
      .select(['removal_token', 'removal_ended_at', isVoid.as('is_void'), isUncertain.as('is_uncertain')])
      .where('sha256', '=', sha256)
      .executeTakeFirst()
    if (!row || row.removal_token === null) return null
    if (row.removal_ended_at !== null) return row.removal_token
    if (row.is_uncertain) throw removalUncertain(sha256)
    if (row.is_void) await endRemoval(db, sha256, row.removal_token)
    else await delay(POLL_MS)
  }
}

const isVoid = sql<boolean>`coalesce(removal_began_at < now() - ${CLAIM_SECONDS}::int * interval '1 second', true)`

/** Only `holdRemoval` sets a beginning in the future. */
const isUncertain = sql<boolean>`coalesce(removal_began_at > now(), false)`

const removalUncertain = (sha256: string) =>
  new Problem(
    'storage_unavailable',
    `the object store has not answered the removal of the same bytes (SHA-256 ${sha256}) and may still carry it out: try again in some minutes`,
    {},
    { retryAfterSeconds: UNCERTAIN_RETRY_SECONDS },
  )

/** Keeps the claim for `UNCERTAIN_SECONDS`. */
async function holdRemoval(db: Db, sha256: string, token: string): Promise<void> {
  await db
    .updateTable('blobs')
    .set({ removal_began_at: sql<Date>`now() + ${UNCERTAIN_SECONDS - CLAIM_SECONDS}::int * interval '1 second'` })
    .where('sha256', '=', sha256)
    .where('removal_token', '=', token)
    .where('removal_ended_at', 'is', null)
    .execute()
}

async function endRemoval(db: Db, sha256: string, token: string): Promise<void> {
  await db
    .updateTable('blobs')
    .set({ removal_ended_at: sql<Date>`now()` })
    .where('sha256', '=', sha256)
    .where('removal_token', '=', token)
    .where('removal_ended_at', 'is', null)
    .execute()
}

/**
 * Puts bytes where they are needed: into the pool when a record is or may be published or a kept publication names them,
 * into quarantine when a record was refused, and into neither when nothing refers to them. Idempotent.
 * @param format of a file without a row, left from a failed upload
 * @returns false when another process is removing bytes of this file, or a backup reads them: the caller repeats it later
 */
export async function placeBytes(db: Db, pool: Pool, sha256: string, format?: FormatId): Promise<boolean> {
  const token = randomUUID()
  const plan = await claim(db, sha256, token, format)
  if (plan === 'busy') return false
  if (plan === 'nothing') return true
  const stopAt = performance.now() + (CLAIM_SECONDS * 1000) / 2
  try {
    await carryOut(pool, plan, stopAt)
  } catch (error) {
    // Until then an upload of the same bytes is refused; otherwise it would find the object and lose it to the removal.
    if (error instanceof RemovalUncertain) await holdRemoval(db, sha256, token)
    else await endRemoval(db, sha256, token)
    throw error
  }
  await endRemoval(db, sha256, token)
  return true
}

interface Plan {
  file: { format: FormatId; sha256: string; filename: string }
  needs: { pool: boolean; quarantine: boolean }
}

async function claim(db: Db, sha256: string, token: string, format?: FormatId): Promise<Plan | 'busy' | 'nothing'> {
  return transaction(db, async (tx) => {
    await sql`select pg_advisory_xact_lock_shared(${LOCK_REMOVALS})`.execute(tx)
    const held = await tx
      .selectFrom('removal_holds')
      .select('id')
      .where('until', '>', sql<Date>`now()`)
      .executeTakeFirst()
    if (held) return 'busy'
    // A failed upload left bytes but no row, and without a row there is nothing to lock.
    if (format)
      await tx
        .insertInto('blobs')
        .values({ ...NO_FACTS, sha256, format })
        .onConflict((c) => c.column('sha256').doNothing())
        .execute()
    const blob = await tx
      .selectFrom('blobs')
      .select(['format', 'filename', 'removal_token', 'removal_ended_at', isVoid.as('is_void')])
      .where('sha256', '=', sha256)
      .forUpdate()
      .executeTakeFirst()
    if (!blob) return 'nothing'
    if (blob.removal_token !== null && blob.removal_ended_at === null && !blob.is_void) return 'busy'
    const rows = await tx.selectFrom('packages').select('status').distinct().where('sha256', '=', sha256).execute()
    // Kept publications may name it.
    const past = await tx
      .selectFrom('offers')
      .select('sha256')
      .where('sha256', '=', sha256)
      .where('keeps_bytes', '=', true)
      .limit(1)
      .execute()
    await tx
      .updateTable('blobs')
      .set({ removal_token: token, removal_began_at: sql<Date>`now()`, removal_ended_at: null })
      .where('sha256', '=', sha256)
      .execute()
    return {
      file: { format: blob.format, sha256, filename: blob.filename },
      needs: {
        pool: past.length > 0 || rows.some(({ status }) => !isRefused(status)),
        quarantine: rows.some(({ status }) => isRefused(status)),
      },
    }
  })
}

/** Whether some process is removing bytes now. Uncertain removals do not count: nobody needs their bytes. */
export async function removalsUnderWay(db: Db): Promise<boolean> {
  const row = await db
    .selectFrom('blobs')
    .select('sha256')
    .where('removal_token', 'is not', null)
    .where('removal_ended_at', 'is', null)
    .where(sql<boolean>`not ${isVoid} and not ${isUncertain}`)
    .executeTakeFirst()
  return row !== undefined
}

const NO_FACTS = {
  filename: '',
  size_bytes: 0,
  sha512: '',
  sha1: '',
  md5: '',
  facts: '{}',
  files: new Uint8Array(),
  created_at: new Date(0),
}

async function carryOut(pool: Pool, { file, needs }: Plan, stopAt: number): Promise<void> {
  const checkClaim = () => {
    if (performance.now() > stopAt) throw new Error(`removing the bytes of ${file.sha256} took too long`)
  }
  if (!needs.pool && !needs.quarantine) {
    checkClaim()
    return pool.forgetAll(file.format, file.sha256)
  }
  // Where `carry` returns false the bytes are lost: the drift scan reports that.
  if (needs.pool && !(await pool.carry(file, 'pool'))) return
  if (needs.quarantine && !(await pool.carry(file, 'quarantine'))) return
  checkClaim()
  if (!needs.pool) await pool.leave('pool', file)
  checkClaim()
  if (!needs.quarantine) await pool.leave('quarantine', file)
}

/** Deletes rows of files that were removed an hour ago and that no record and no kept publication refers to. */
export async function deleteTombstones(db: Db): Promise<void> {
  await sql`delete from blobs where removal_ended_at < now() - ${TOMBSTONE_SECONDS}::int * interval '1 second'
    and not exists (select from packages where packages.sha256 = blobs.sha256)
    and not exists (select from offers where offers.sha256 = blobs.sha256)`.execute(db)
}
