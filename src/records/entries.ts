// The index entries of a record, rendered by its format.
import type { Offered } from '../formats/format.ts'
import { unpackFacts } from '../store/files/blobs.ts'
import type { BlobRow, PackageRow } from '../store/tables.ts'

/** A stream of the format and the bytes that the package adds to it. */
export type StreamEntry = [stream: string, bytes: Uint8Array]

export function renderEntries(
  row: Pick<PackageRow, 'filename' | 'size_bytes' | 'imported_at'>,
  blob: Omit<BlobRow, 'created_at'>,
  { format, distribution }: Offered,
): StreamEntry[] {
  const { sha256, sha512, sha1, md5 } = blob
  const rendered = format.entry(
    {
      facts: unpackFacts(blob),
      filename: row.filename,
      sizeBytes: row.size_bytes,
      digests: { sha256, sha512, sha1, md5 },
      addedAt: Math.floor(row.imported_at.getTime() / 1000),
    },
    distribution,
  )
  return Object.entries(rendered)
}
