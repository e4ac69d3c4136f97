// Rows of stored files, inserted with the records that refer to them.
import { sql, type Insertable } from 'kysely'
import type { PackageFacts } from '../domain/package.ts'
import type { Db } from '../store/db.ts'
import type { BlobRow, BlobsTable } from '../store/tables.ts'

/**
 * Rows that are there already are locked: this orders it against `forgetUnused`, which removes the bytes of a blob nobody
 * refers to. In the order of their digests, so that two who insert the same ones do not wait for each other.
 */
export async function insertBlobs(tx: Db, blobs: readonly Insertable<BlobsTable>[]): Promise<void> {
  const rows = [...new Map(blobs.map((blob) => [blob.sha256, blob])).values()].sort((a, b) =>
    a.sha256 < b.sha256 ? -1 : 1,
  )
  await tx
    .insertInto('blobs')
    .values(rows)
    .onConflict((c) => c.column('sha256').doUpdateSet({ filename: sql`blobs.filename` }))
    .execute()
}

export function blobOf(blob: Insertable<BlobsTable>): Omit<BlobRow, 'created_at'> {
  return { ...blob, facts: JSON.parse(blob.facts) as PackageFacts }
}
