// Reads and verifies the payload of an rpm: a compressed cpio archive of the files in the header.
import { decompress, detectCompression, MAGIC_BYTES, type Compression } from '../archive/compression.ts'
import { readCpio } from '../archive/cpio.ts'
import { fileRange } from '../archive/file-range.ts'
import { DEFAULT_LIMITS, invalid } from '../archive/limits.ts'
import { isProblem } from '../../domain/problem.ts'
import { MOST_FILES } from '../bounds.ts'
import type { Member, ReadOptions } from '../ecosystem.ts'
import { createPayloadDigests } from './digests.ts'
import { checkPath, createStrippedSizes, isRegular, type RpmFile } from './files.ts'
import type { Header } from './header.ts'
import type { RpmLayout } from './open.ts'
import { TAG } from './tags.ts'

const MOST_ENTRIES = 2 * MOST_FILES

/**
 * Every regular file of the payload, under its path without leading slash. When the loop ends by itself, the whole payload
 * was decompressed and matched the digests that the package states.
 * @throws Problem('invalid_package'), also for an entry that the header does not name
 */
export async function* payloadFiles(
  path: string,
  layout: RpmLayout,
  files: readonly RpmFile[],
  { maxUnpackedBytes = DEFAULT_LIMITS.maxOutputBytes }: ReadOptions = {},
): AsyncGenerator<Member, void, undefined> {
  const { signature, header, payloadStart, sizeBytes } = layout
  const digests = createPayloadDigests(signature, header)
  const range = (from: number, to: number) => fileRange(path, from, to)
  const compression = await compressionOf(header, range(payloadStart, Math.min(sizeBytes, payloadStart + MAGIC_BYTES)))
  const raw = passing(range(payloadStart, sizeBytes), digests.compressed)
  const plain = passing(decompress(raw, compression, { maxOutputBytes: maxUnpackedBytes }), digests.plain)
  const known = new Map(files.map((file, index) => [file.path, index]))
  try {
    const entries = readCpio(plain, {
      mostEntries: MOST_ENTRIES,
      mostBytes: maxUnpackedBytes,
      strippedSize: createStrippedSizes(header, files),
    })
    for await (const { name, mode, fileIndex, sizeBytes, content } of entries) {
      const index = fileIndex ?? known.get(checkPath(rooted(name)))
      const file = index === undefined ? undefined : files[index]
      if (!file) throw invalid('the rpm payload has a file that the header does not name')
      if (isRegular(fileIndex === null ? mode : file.mode)) yield { name: file.path.slice(1), sizeBytes, content }
    }
  } catch (error) {
    throw isProblem(error, 'invalid_package') ? invalid(`payload: ${error.detail}`, error) : error
  }
  digests.verifyCompressed()
  digests.verifyPlain()
}

/** `./usr/x`, `usr/x` and `/usr/x` are the same file. */
function rooted(name: string): string {
  return name.replace(/^(?:\.(?=\/|$))?\/*/, '/')
}

async function* passing(
  source: AsyncIterable<Uint8Array>,
  see: (piece: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    see(piece)
    yield piece
  }
}

/** From the header, as in rpm; the payload may be uncompressed in place of gzip, and xz and lzma are interchangeable. */
async function compressionOf(header: Header, head: AsyncIterable<Uint8Array>): Promise<Compression> {
  const format = header.text(TAG.PAYLOADFORMAT) ?? 'cpio'
  if (format !== 'cpio') throw invalid('the rpm payload is no cpio archive')
  const pieces: Uint8Array[] = []
  for await (const piece of head) pieces.push(piece)
  const found = detectCompression(Buffer.concat(pieces))
  switch (header.text(TAG.PAYLOADCOMPRESSOR) ?? 'gzip') {
    case 'gzip':
      return found === 'gzip' ? 'gzip' : 'none'
    case 'xz':
    case 'lzma':
      return found === 'xz' ? 'xz' : 'lzma'
    case 'zstd':
      return 'zstd'
    case 'bzip2':
      return 'bzip2'
    default:
      throw invalid('the rpm payload has an unknown compression')
  }
}
