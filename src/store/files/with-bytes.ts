// Inserts references to stored files so that their bytes are there, also while a removal of the same bytes runs (`placement`).
import { setTimeout as delay } from 'node:timers/promises'
import { sql, type Insertable } from 'kysely'
import { isMissing } from '../../kernel/files.ts'
import type { Db } from '../db.ts'
import type { BlobsTable } from '../tables.ts'
import { removalEnded } from './placement.ts'

const AGAIN_MS = 10
const MOST_ATTEMPTS = 5

/** Tokens of removals that had ended before the bytes were put in place, by SHA-256. */
export type SeenRemovals = ReadonlyMap<string, string>

/** The bytes may have been removed since they were put in place; `withBytes` handles this error. */
export class BytesRemoved extends Error {
  readonly sha256: string
  constructor(sha256: string) {
    super(`the bytes of ${sha256} are being removed or were removed`)
    this.sha256 = sha256
  }
}

/**
 * Puts bytes in place and runs the transaction that inserts a reference to them. Repeats both when the bytes were removed in
 * between.
 * @param ensureBytes stores the bytes durably unless they are stored already; runs outside the transaction
 */
export async function withBytes<T>(
  db: Db,
  ensureBytes: () => Promise<void>,
  transact: (seen: SeenRemovals) => Promise<T>,
): Promise<T> {
  const seen = new Map<string, string>()
  for (;;) {
    await ensured(ensureBytes)
    try {
      return await transact(seen)
    } catch (error) {
      if (!(error instanceof BytesRemoved)) throw error
      const token = await removalEnded(db, error.sha256)
      if (token === null) seen.delete(error.sha256)
      else seen.set(error.sha256, token)
    }
  }
}

/** Puts bytes in place. Tries again when a removal of the same bytes deletes the new directory before the file is in it. */
export async function ensured(ensureBytes: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await ensureBytes()
      return
    } catch (error) {
      if (!isMissing(error) || attempt === MOST_ATTEMPTS) throw error
      await delay(AGAIN_MS)
    }
  }
}

/**
 * Inserts rows of stored files, or locks existing ones, in the order of their digests, so that two transactions with
 * the same files do not deadlock.
 * @param seen null when the caller does not bring the bytes (a record restored from its manifest)
 * @throws BytesRemoved
 */
export async function insertBlobs(
  tx: Db,
  blobs: readonly Insertable<BlobsTable>[],
  seen: SeenRemovals | null,
): Promise<void> {
  const bySha256 = new Map(blobs.map((blob) => [blob.sha256, blob]))
  const rows = [...bySha256.values()].sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1))
  const stored = await tx
    .insertInto('blobs')
    .values(rows)
    .onConflict((c) => c.column('sha256').doUpdateSet({ filename: sql`blobs.filename` }))
    .returning(['sha256', 'removal_token', 'removal_ended_at'])
    .execute()
  for (const { sha256, removal_token: token, removal_ended_at: endedAt } of stored) {
    if (token === null) continue
    if (seen && (endedAt === null || seen.get(sha256) !== token)) throw new BytesRemoved(sha256)
    // The row may be left from a failed upload, without facts. Its token stays: other inserts have to check again too.
    const { sha256: _key, ...columns } = bySha256.get(sha256) as Insertable<BlobsTable>
    await tx
      .updateTable('blobs')
      .set({ ...columns, removal_ended_at: sql<Date>`now()` })
      .where('sha256', '=', sha256)
      .execute()
  }
}
