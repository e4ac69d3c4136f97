// A stored file's row: how its facts lie in the table, where its bytes belong, and when both may go.
import { gunzipSync, gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import type { FormatId, PackageFacts } from '../../domain/package.ts'
import { isRefused } from '../../domain/transitions.ts'
import type { Db } from '../db.ts'
import type { Pool } from './pool.ts'

/** A list of 100,000 paths is 6 MB as JSON and 0.4 MB so. */
export function packFacts(facts: PackageFacts): { facts: string; files: Uint8Array } {
  return { facts: JSON.stringify({ ...facts, files: [] }), files: gzipSync(facts.files.join('\n')) }
}

export function unpackFacts(blob: { facts: PackageFacts; files: Uint8Array }): PackageFacts {
  return { ...blob.facts, files: unpackFiles(blob.files) }
}

/** The paths of a stored file's list. */
export function unpackFiles(files: Uint8Array): string[] {
  const text = gunzipSync(files).toString('utf8')
  return text === '' ? [] : text.split('\n')
}

/**
 * Removes a stored file, row and bytes, unless a record refers to it. Bytes come and go only under the lock of this row
 * (`insertRecord` looks for them under it), so a deletion and an upload of the same bytes cannot undo each other.
 */
export async function forgetUnused(db: Db, pool: Pool, format: FormatId, sha256: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // An upload that failed has left bytes but no row: without one there would be nothing to lock.
    const row = {
      sha256,
      format,
      filename: '',
      size_bytes: 0,
      sha512: '',
      sha1: '',
      md5: '',
      facts: '{}',
      files: new Uint8Array(),
      created_at: new Date(0),
    }
    await tx
      .insertInto('blobs')
      .values(row)
      .onConflict((c) => c.column('sha256').doUpdateSet({ filename: sql`blobs.filename` }))
      .execute()
    const used = await tx.selectFrom('packages').select('id').where('sha256', '=', sha256).limit(1).executeTakeFirst()
    if (used) return
    await tx.deleteFrom('blobs').where('sha256', '=', sha256).execute()
    await pool.forgetAll(format, sha256)
  })
}

/**
 * Puts bytes where the records that refer to them want them: into the pool for what is or may be offered, into
 * quarantine for what was refused, into both for both. Under the same lock as above; doing it again is harmless.
 */
export async function placeBytes(db: Db, pool: Pool, sha256: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const blob = await tx
      .selectFrom('blobs')
      .select(['format', 'filename'])
      .where('sha256', '=', sha256)
      .forUpdate()
      .executeTakeFirst()
    const rows = await tx.selectFrom('packages').select('status').distinct().where('sha256', '=', sha256).execute()
    if (!blob || rows.length === 0) return
    const file = { sha256, ...blob }
    const from = await pool.locate(file)
    // Lost: the drift scan tells of it.
    if (from === null) return
    const wanted = {
      pool: rows.some(({ status }) => !isRefused(status)),
      quarantine: rows.some(({ status }) => isRefused(status)),
    }
    if (wanted.pool && !(await pool.has(file))) await pool.keep(from, file)
    if (wanted.quarantine && !(await pool.hasQuarantined(file))) await pool.quarantine(from, file)
    if (!wanted.pool) await pool.leave('pool', file)
    if (!wanted.quarantine) await pool.leave('quarantine', file)
  })
}
