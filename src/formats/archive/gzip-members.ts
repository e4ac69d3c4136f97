// Splits a gzip file into its members and finds their exact offsets.
import { createInflateRaw, crc32 } from 'node:zlib'
import { createByteReader, type ByteReader } from './byte-reader.ts'
import { invalid, tooLarge } from './limits.ts'

/** One member of a gzip file (RFC 1952, section 2.3). */
export interface GzipMember {
  /** offset of its first byte */
  start: number
  /** Offset after its last byte. Known once `content` has been read, -1 before. */
  readonly end: number
  /** Inflated; the checksum is verified at its end. The next step of the loop reads and verifies the unread rest. */
  content: AsyncIterable<Uint8Array>
}

const PIECE_BYTES = 64 * 1024
// Packages have two or three, and backups too. Each costs the set-up of an inflater, so thousands of empty ones would cost minutes.
const MOST_MEMBERS = 64

/**
 * The members of a gzip file, one after another.
 * @param limits `maxOutputBytes` is the total of all members
 * @throws Problem('invalid_package') for damaged, truncated and trailing bytes, and for more than 64 members
 */
export async function* gzipMembers(
  source: AsyncIterable<Uint8Array>,
  limits: { maxOutputBytes: number },
): AsyncGenerator<GzipMember, void, undefined> {
  // A member may end in the middle of a piece, so the inflater's unused input is pushed back.
  const input = createPushBack(createByteReader(source, 'gzip data'))
  let left = limits.maxOutputBytes
  try {
    for (let count = 0; !(await input.atEnd()); count++) {
      if (count === MOST_MEMBERS) throw invalid('the gzip data has too many members')
      const start = input.position
      let end = -1
      await readHeader(input)
      const content = inflateMember(input, (size) => {
        if ((left -= size) < 0) throw tooLarge(limits.maxOutputBytes)
      })
      const whole = (async function* () {
        yield* content
        end = input.position
      })()
      try {
        yield {
          start,
          get end() {
            return end
          },
          // Without `return`, so that the line below reads the rest that a caller leaves.
          content: { [Symbol.asyncIterator]: () => ({ next: () => whole.next() }) },
        }
        while (!(await whole.next()).done);
      } finally {
        await whole.return()
      }
    }
  } finally {
    await input.close()
  }
}

interface PushBack {
  readonly position: number
  read(count: number): Promise<Uint8Array>
  piece(limit: number): Promise<Uint8Array | null>
  unread(bytes: Uint8Array): void
  atEnd(): Promise<boolean>
  close(): Promise<void>
}

function createPushBack(reader: ByteReader): PushBack {
  let back: Uint8Array = new Uint8Array(0)
  async function piece(limit: number): Promise<Uint8Array | null> {
    if (back.length === 0) return reader.piece(limit)
    const first = back.subarray(0, limit)
    back = back.subarray(first.length)
    return first
  }
  function unread(bytes: Uint8Array): void {
    back = back.length === 0 ? bytes : Buffer.concat([bytes, back])
  }
  return {
    get position() {
      return reader.position - back.length
    },
    piece,
    unread,
    async read(count) {
      const parts: Uint8Array[] = []
      for (let have = 0; have < count; have += parts.at(-1)!.length) {
        const part = await piece(count - have)
        if (!part) throw invalid('the gzip data is truncated')
        parts.push(part)
      }
      return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    },
    async atEnd() {
      const next = await piece(1)
      if (next) unread(next)
      return next === null
    },
    close: () => reader.close(),
  }
}

const FLAG = { headerCrc: 2, extra: 4, name: 8, comment: 16, reserved: 0xe0 }

async function readHeader(input: PushBack): Promise<void> {
  const head = await input.read(10)
  if (head[0] !== 0x1f || head[1] !== 0x8b) throw invalid('the gzip data is followed by other bytes')
  const flags = head[3]!
  if (head[2] !== 8 || flags & FLAG.reserved) throw invalid('the gzip data is damaged')
  if (flags & FLAG.extra) {
    const size = await input.read(2)
    await input.read(size[0]! + size[1]! * 256)
  }
  if (flags & FLAG.name) await skipText(input)
  if (flags & FLAG.comment) await skipText(input)
  if (flags & FLAG.headerCrc) await input.read(2)
}

async function skipText(input: PushBack): Promise<void> {
  for (let count = 0; count < 64 * 1024; count++) if ((await input.read(1))[0] === 0) return
  throw invalid('the gzip data is damaged')
}

async function* inflateMember(input: PushBack, count: (size: number) => void): AsyncGenerator<Uint8Array> {
  const inflater = createInflateRaw({ chunkSize: PIECE_BYTES })
  const feeding = feed(input, inflater)
  // The loop below reports it when the inflater is destroyed.
  feeding.catch((error: unknown) => inflater.destroy(error as Error))
  let crc = 0
  let size = 0
  try {
    for await (const piece of inflater as AsyncIterable<Buffer>) {
      count(piece.length)
      crc = crc32(piece, crc)
      size += piece.length
      yield piece
    }
    await feeding
  } catch (error) {
    throw zlibProblem(error)
  } finally {
    inflater.destroy()
  }
  const trailer = Buffer.from(await input.read(8))
  if (trailer.readUInt32LE(0) !== crc || trailer.readUInt32LE(4) !== size % 2 ** 32)
    throw invalid('the gzip data is damaged')
}

/** Feeds the inflater until its stream ends, then pushes back the unused input. */
async function feed(input: PushBack, inflater: ReturnType<typeof createInflateRaw>): Promise<void> {
  let ended = false as boolean
  const over = new Promise<void>((resolve) => {
    inflater.once('end', resolve).once('close', resolve)
  }).then(() => {
    ended = true
  })
  let given = 0
  let last: Uint8Array = new Uint8Array(0)
  while (!ended) {
    const piece = await input.piece(PIECE_BYTES)
    if (!piece) {
      inflater.end()
      await over
      break
    }
    last = piece
    given += piece.length
    await Promise.race([over, new Promise<void>((resolve) => inflater.write(piece, () => resolve()))])
    // Unused input after a write means that the deflate stream has ended; `end` follows in a later turn.
    if (inflater.bytesWritten < given) await over
  }
  const unused = given - inflater.bytesWritten
  if (unused > 0) input.unread(last.subarray(last.length - unused))
}

/** zlib's errors (Z_BUF_ERROR: the input ended too soon) as a Problem; other errors unchanged. */
export function zlibProblem(error: unknown): unknown {
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code !== 'string' || !code.startsWith('Z_')) return error
  return invalid(`the gzip data is ${code === 'Z_BUF_ERROR' ? 'truncated' : 'damaged'}`, error)
}
