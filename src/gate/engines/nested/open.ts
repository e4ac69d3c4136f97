// Opens one container and yields its files, entry by entry. Knows no limits and no scanner.
import { readArStream } from '../../../formats/archive/ar-stream.ts'
import { createByteReader } from '../../../formats/archive/byte-reader.ts'
import { decompress, detectCompression, MAGIC_BYTES } from '../../../formats/archive/compression.ts'
import { readOldCpio } from '../../../formats/archive/cpio-old.ts'
import { readCpio } from '../../../formats/archive/cpio.ts'
import { readTar } from '../../../formats/archive/tar.ts'
import { unlistedEntries } from '../../../formats/archive/zip-unlisted.ts'
import { zipEntriesOf } from '../../../formats/archive/zip.ts'
import type { OpenKind } from './kinds.ts'
import type { Spooled } from '../../../formats/archive/spool.ts'

/** One file inside a container. Its content must be read, or is skipped by the next step of the loop. */
export interface NestedFile {
  name: string
  /** null where the container does not say */
  sizeBytes: number | null
  /** clamd does not unpack this entry although it opens the container */
  hidden: boolean
  content: AsyncIterable<Uint8Array>
}

/** A jar of 65,000 classes has a directory of 8 MB. */
const ZIP_LIMITS = { mostEntries: 1_000_000, mostDirectoryBytes: 32 * 1024 ** 2 }
/** Stored, imploded, deflated, deflate64 and bzip2: what libclamav/unzip.c unpacks. */
const ZIP_METHODS_OF_ENGINE: readonly number[] = [0, 6, 8, 9, 12]
/** `decompress` stops at a ratio of its own; here the caller counts bytes. */
const NO_RATIO = { maxRatio: Infinity, maxOutputBytes: Infinity }

/** @throws Error with a sentence when the container cannot be read to its end */
export async function* openContainer(kind: OpenKind, spooled: Spooled, name: string): AsyncGenerator<NestedFile> {
  switch (kind) {
    case 'zip':
      for await (const entry of zipEntriesOf(spooled, ZIP_LIMITS))
        yield {
          name: entry.name,
          sizeBytes: entry.sizeBytes,
          hidden: entry.isShifted || !ZIP_METHODS_OF_ENGINE.includes(entry.method),
          content: entry.content(),
        }
      for await (const entry of unlistedEntries(spooled, ZIP_LIMITS))
        yield { name: entry.name, sizeBytes: entry.sizeBytes, hidden: true, content: entry.content() }
      return
    case 'tar':
    case 'v7-tar':
      for await (const entry of readTar(spooled.stream())) if (entry.type === 'file') yield { ...entry, hidden: false }
      return
    case 'cpio':
      for await (const entry of readCpio(spooled.stream())) yield { ...entry, hidden: false }
      return
    case 'old-cpio':
      for await (const entry of readOldCpio(spooled.stream())) yield { ...entry, hidden: false }
      return
    case 'ar':
      for await (const entry of readArStream(spooled.stream())) yield { ...entry, hidden: true }
      return
    case 'rpm':
      yield { name: 'payload', sizeBytes: null, hidden: true, content: rpmPayload(spooled.stream()) }
      return
    default:
      yield {
        name: unpackedName(name),
        sizeBytes: null,
        hidden: kind === 'zstd' || kind === 'lzma',
        content: decompress(spooled.stream(), kind, NO_RATIO),
      }
  }
}

/** `a/b.tar.zst` -> `b.tar` */
function unpackedName(name: string): string {
  const base = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('!')) + 1)
  return base.replace(/\.(?:gz|xz|bz2|zst|lzma)$/i, '').replace(/\.t(?:gz|xz|bz2|zst|lz)$/i, '.tar')
}

/**
 * The decompressed payload of an rpm: what follows the lead, the signature header and the header
 * (https://rpm-software-management.github.io/rpm/manual/format_v4.html).
 */
async function* rpmPayload(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = createByteReader(source, 'rpm')
  try {
    await reader.skip(96)
    await skipHeader(reader, 8)
    await skipHeader(reader, 1)
    const head = await reader.readUpTo(MAGIC_BYTES)
    yield* decompress(rest(head, reader), detectCompression(head), NO_RATIO)
  } finally {
    await reader.close()
  }
}

async function skipHeader(reader: ReturnType<typeof createByteReader>, align: number): Promise<void> {
  const intro = Buffer.from(await reader.read(16))
  if (intro.readUInt32BE(0) >>> 8 !== 0x8eade8) throw new Error('the rpm header is damaged')
  const bytes = intro.readUInt32BE(8) * 16 + intro.readUInt32BE(12)
  await reader.skip(bytes + ((align - (bytes % align)) % align))
}

async function* rest(head: Uint8Array, reader: ReturnType<typeof createByteReader>): AsyncGenerator<Uint8Array> {
  yield head
  for (let piece = await reader.piece(64 * 1024); piece; piece = await reader.piece(64 * 1024)) yield piece
}
