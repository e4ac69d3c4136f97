// From a record and its stored file to the index entries its format renders.
import type { Distribution } from '../domain/package.ts'
import type { PackageFormat } from '../formats/format.ts'
import { unpackFacts } from '../store/files/blobs.ts'
import type { BlobRow, PackageRow } from '../store/tables.ts'

/** @returns pairs of stream and bytes */
export function entriesFor(
  row: PackageRow,
  blob: Omit<BlobRow, 'created_at'>,
  format: PackageFormat,
  distribution: Distribution,
): [stream: string, bytes: Uint8Array][] {
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
