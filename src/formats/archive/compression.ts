// Decompression of every kind that packages use. Bounded; damaged, truncated and trailing bytes are errors.
import { createGunzip, gunzipSync } from 'node:zlib'
import { pipeline, Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { createByteReader, type ByteReader } from './byte-reader.ts'
import { unbzip2 } from './bzip2.ts'
import { zlibProblem } from './gzip-members.ts'
import { DEFAULT_LIMITS, invalid, plausibleOutput, tooLarge, type Limits } from './limits.ts'
import { unlzma } from './lzma.ts'
import { unzstd } from './zstd.ts'

export const COMPRESSIONS = ['none', 'gzip', 'xz', 'lzma', 'zstd', 'bzip2'] as const
export type Compression = (typeof COMPRESSIONS)[number]

/** How many first bytes `detectCompression` reads. */
export const MAGIC_BYTES = 13

const MAGICS: readonly [Compression, readonly number[]][] = [
  ['gzip', [0x1f, 0x8b]],
  ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
  ['bzip2', [0x42, 0x5a, 0x68]],
]

/** The compression by its first bytes; `none` if no magic matches. */
export function detectCompression(head: Uint8Array): Compression {
  const byMagic = MAGICS.find(([, magic]) => magic.every((byte, index) => head[index] === byte))
  if (byMagic) return byMagic[0]
  // RFC 8878, section 3.1.2: 0x184D2A50 to 0x184D2A5F begin a skippable frame.
  if ((head[0]! & 0xf0) === 0x50 && head[1] === 0x2a && head[2] === 0x4d && head[3] === 0x18) return 'zstd'
  // .lzma has no magic: properties lc=3 lp=0 pb=2 that every writer uses, a dictionary size of whole 64 KiB, and a size
  // that is unknown or below 2^40.
  const size = head.slice(5, 13)
  const plausible =
    size.length === 8 && (size.every((byte) => byte === 0xff) || (size[5] === 0 && size[6] === 0 && size[7] === 0))
  return head[0] === 0x5d && head[1] === 0 && head[2] === 0 && plausible ? 'lzma' : 'none'
}

/** Bytes of output between two turns of the event loop. */
const TURN_BYTES = 1024 * 1024

/**
 * Decompresses a whole stream: concatenated gzip members, xz and bzip2 streams and zstd frames are all read.
 * The reader sets the pace; leaving the loop early frees everything.
 * @param limits missing ones are taken from DEFAULT_LIMITS
 * @throws Problem('invalid_package') for damaged, truncated and trailing bytes and for output beyond the limits;
 *   the signal's reason when aborted
 */
export async function* decompress(
  source: AsyncIterable<Uint8Array>,
  kind: Compression,
  limits: Partial<Limits> = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const { maxOutputBytes, signal } = { ...DEFAULT_LIMITS, ...limits }
  let input = 0
  let output = 0
  let turn = 0
  const counted = (async function* () {
    for await (const piece of source) {
      signal?.throwIfAborted()
      input += piece.length
      yield piece
    }
  })()
  for await (const piece of decode(counted, kind)) {
    signal?.throwIfAborted()
    output += piece.length
    if (output > maxOutputBytes) throw tooLarge(maxOutputBytes)
    if (output > plausibleOutput(input))
      throw invalid(`the file unpacks to suspiciously many bytes: ${output} of ${input}`)
    yield piece
    if ((turn += piece.length) >= TURN_BYTES) {
      turn = 0
      await setImmediate()
    }
  }
}

function decode(source: AsyncIterable<Uint8Array>, kind: Compression): AsyncIterable<Uint8Array> {
  switch (kind) {
    case 'none':
      return source
    case 'gzip':
      return gunzip(source)
    case 'xz':
    case 'lzma':
      return unlzma(source, kind)
    case 'zstd':
      return unzstd(source)
    case 'bzip2':
      return unbzip2(source)
  }
}

/** Up to these sizes, data is unpacked synchronously: control files and small packages. A stream takes 0.5 ms longer. */
const SMALL_INPUT = 64 * 1024
const SMALL_OUTPUT = 256 * 1024
const PIECE_BYTES = 128 * 1024

async function* gunzip(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = createByteReader(source, 'gzip data')
  try {
    const head = await reader.readUpTo(SMALL_INPUT + 1)
    // zlib accepts an empty file.
    if (head.length === 0) throw invalid('the gzip data is truncated')
    const whole = head.length <= SMALL_INPUT ? gunzipSmall(head) : null
    if (whole) yield whole
    else yield* gunzipStream(head, reader)
  } finally {
    await reader.close()
  }
}

/** @returns null when the output is larger than `SMALL_OUTPUT` */
function gunzipSmall(input: Uint8Array): Buffer | null {
  try {
    const { buffer, engine } = gunzipSync(input, { maxOutputLength: SMALL_OUTPUT, info: true }) as unknown as {
      buffer: Buffer
      engine: { bytesWritten: number }
    }
    requireAllRead(engine, input.length)
    return buffer
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return null
    throw zlibProblem(error)
  }
}

/** @param head bytes already taken from the reader */
async function* gunzipStream(head: Uint8Array, reader: ByteReader): AsyncGenerator<Uint8Array> {
  const all = (async function* () {
    yield head
    for (let piece = await reader.piece(PIECE_BYTES); piece; piece = await reader.piece(PIECE_BYTES)) yield piece
  })()
  const inflater = createGunzip({ chunkSize: 64 * 1024 })
  // The loop below receives the errors of both sides.
  pipeline(Readable.from(all, { objectMode: false, highWaterMark: PIECE_BYTES }), inflater, () => {})
  try {
    for await (const piece of inflater as AsyncIterable<Buffer>) yield piece
  } catch (error) {
    throw zlibProblem(error)
  } finally {
    inflater.destroy()
  }
  requireAllRead(inflater, reader.position)
}

/** zlib stops without an error where other bytes follow the last member. */
function requireAllRead({ bytesWritten }: { bytesWritten: number }, inputBytes: number): void {
  if (bytesWritten !== inputBytes) throw invalid('the gzip data is followed by other bytes')
}
