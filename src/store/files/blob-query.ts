// Reads of stored files for answers.
import type { Db } from '../db.ts'

/** The row of a stored file that a record refers to. */
export function blobOf(db: Db, sha256: string) {
  return db.selectFrom('blobs').selectAll().where('sha256', '=', sha256).executeTakeFirstOrThrow()
}

/** SHA-512 digests by SHA-256. */
export async function sha512Of(db: Db, digests: readonly string[]): Promise<Map<string, string>> {
  if (digests.length === 0) return new Map()
  const rows = await db
    .selectFrom('blobs')
    .select(['sha256', 'sha512'])
    .where('sha256', 'in', [...new Set(digests)])
    .execute()
  return new Map(rows.map((row) => [row.sha256, row.sha512]))
}
