// Reads of stored files.
import { sql, type Insertable } from 'kysely'
import type { PackageFacts } from '../../domain/package.ts'
import type { Db } from '../db.ts'
import type { BlobsTable } from '../tables.ts'

/** The row of a stored file that a record refers to. */
export function blobOf(db: Db, sha256: string) {
  return db.selectFrom('blobs').selectAll().where('sha256', '=', sha256).executeTakeFirstOrThrow()
}

/** The facts of a stored file, without its file list. */
export async function storedFacts(db: Db, sha256: string): Promise<PackageFacts> {
  const { facts } = await db.selectFrom('blobs').select('facts').where('sha256', '=', sha256).executeTakeFirstOrThrow()
  return facts
}

/** The packed file list of a stored file (`domain/packed-facts`). */
export async function fileListOf(db: Db, sha256: string): Promise<Uint8Array> {
  const { files } = await db.selectFrom('blobs').select('files').where('sha256', '=', sha256).executeTakeFirstOrThrow()
  return files
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

/** Columns of a stored file without the state of its removal, and without the facts, which are read as text. */
export const LASTING_COLUMNS = [
  'sha256',
  'format',
  'filename',
  'size_bytes',
  'sha512',
  'sha1',
  'md5',
  'installed_size_kb',
  'section',
  'description',
  'maintainer',
  'license',
  'url',
  'source_package',
  'source_version',
  'dependencies',
  'files',
  'created_at',
] as const satisfies readonly (keyof BlobsTable)[]

/** The row of a stored file in insertable form, for another record that refers to it; null when it is gone. */
export async function insertableBlob(
  db: Db,
  sha256: string,
): Promise<(Insertable<BlobsTable> & { facts: string }) | null> {
  const row = await db
    .selectFrom('blobs')
    .select(LASTING_COLUMNS)
    .select(sql<string>`facts::text`.as('facts'))
    .where('sha256', '=', sha256)
    .executeTakeFirst()
  return row ? { ...row, dependencies: JSON.stringify(row.dependencies) } : null
}
