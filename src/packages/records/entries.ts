// The index entries of a record, rendered by its format.
import { sql, type Insertable } from 'kysely'
import type { PackageFacts } from '../../domain/package.ts'
import { unpackFacts } from '../../domain/packed-facts.ts'
import type { Placed } from '../../formats/intake-format.ts'
import type { Db } from '../../store/db.ts'
import type { StreamEntry } from '../../store/records/entry-pieces.ts'
import type { BlobRow, BlobsTable, PackageRow } from '../../store/tables.ts'

/** The columns of the record that an entry contains. */
type Row = Pick<PackageRow, 'imported_at'>
/** The columns of the stored file that it contains besides the facts. */
type File = Pick<BlobRow, (typeof FILE_COLUMNS)[number]>
const FILE_COLUMNS = ['filename', 'size_bytes', 'sha256', 'sha512', 'sha1', 'md5'] as const

/** The entries of a stored file for one record, rendered before the transaction. */
export interface Rendered {
  sha256: string
  entries: readonly StreamEntry[]
}

/** Packed facts above this size are rendered on a thread: 256 KiB take 5 ms, the largest (8 MB) 200. */
const LARGE_BYTES = 256 * 1024

/** Renders in place, because nothing may wait for a thread inside a transaction. */
export function renderEntries(
  row: Row,
  blob: File & { facts: PackageFacts; files: Uint8Array },
  { format, distribution }: Placed,
): StreamEntry[] {
  return Object.entries(format.entry({ ...fileOf(row, blob), facts: unpackFacts(blob) }, distribution))
}

/** Renders the entries of a new record, before its transaction. */
export async function renderNew(
  row: Row,
  blob: Insertable<BlobsTable>,
  facts: PackageFacts,
  { format, distribution }: Placed,
): Promise<StreamEntry[]> {
  const file = fileOf(row, blob)
  const isLarge = blob.facts.length + blob.files.byteLength > LARGE_BYTES
  return Object.entries(
    isLarge && format.entryInReader
      ? await format.entryInReader({ ...file, facts: blob.facts, files: blob.files }, distribution)
      : format.entry({ ...file, facts }, distribution),
  )
}

/**
 * Renders the entries of a large package before a transaction that may publish it: in place, rendering would block the event
 * loop for up to 400 ms.
 * @returns null for other packages
 */
export async function renderAhead(
  db: Db,
  row: Row & Pick<PackageRow, 'sha256'>,
  { format, distribution }: Placed,
): Promise<Rendered | null> {
  if (!format.entryInReader) return null
  const blob = await db
    .selectFrom('blobs')
    .select([...FILE_COLUMNS, 'files'])
    .select(sql<string>`facts::text`.as('facts'))
    .where('sha256', '=', row.sha256)
    .where(sql<boolean>`octet_length(facts::text) + octet_length(files) > ${LARGE_BYTES}`)
    .executeTakeFirst()
  if (!blob) return null
  const { facts, files } = blob
  const entry = await format.entryInReader({ ...fileOf(row, blob), facts, files }, distribution)
  return { sha256: row.sha256, entries: Object.entries(entry) }
}

function fileOf(row: Row, { filename, size_bytes: sizeBytes, sha256, sha512, sha1, md5 }: File) {
  return {
    filename,
    sizeBytes,
    digests: { sha256, sha512, sha1, md5 },
    addedAt: Math.floor(row.imported_at.getTime() / 1000),
  }
}
