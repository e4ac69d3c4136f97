// One INSTREAM on a connection of its own: for what is too large to be held in memory. Knows nothing of packages.
import { readAnswer, type Answer } from './answer.ts'
import { isAlive } from './daemon.ts'
import { openConnection, unavailable, type ClamavAddress, type ClamavLimits, type End } from './connection.ts'

const COMMAND = Buffer.from('zINSTREAM\0')
const LAST_CHUNK = Buffer.alloc(4)
/** Smaller pieces are joined up to this, so that a decompressor's crumbs do not each cost a turn of the event loop. */
const CHUNK_BYTES = 64 * 1024

export interface StreamOptions {
  address: ClamavAddress
  limits: ClamavLimits
  /** more than this is never sent, whatever size was announced */
  maxBytes: number
  signal: AbortSignal
  /** the content has been consumed; the answer may still be far away */
  onSent?(): void
}

/** A chunk as clamd wants it: its length in four bytes, big-endian, in front. */
export function chunkHeader(bytes: number): Buffer {
  const header = Buffer.alloc(4)
  header.writeUInt32BE(bytes)
  return header
}

/**
 * Streams `content` and waits for the answer, which may come before the content ends.
 * @throws Problem('scanner_unavailable') when the daemon is down or hangs up without an answer
 */
export async function scanStream(
  content: AsyncIterable<Uint8Array>,
  options: StreamOptions,
): Promise<{ answer: Answer; bytes: number }> {
  const { address, limits, signal } = options
  let answer: Answer | null = null
  let ended: End | null = null
  let settle = () => {}
  const settled = new Promise<void>((resolve) => (settle = resolve))
  const connection = await openConnection(address, limits, signal, {
    onAnswer(text) {
      answer ??= readAnswer(text)
      settle()
    },
    onEnd(end) {
      ended = end
      settle()
    },
  })
  const over = () => answer !== null || ended !== null

  let bytes = 0
  try {
    await connection.send(COMMAND)
    for await (const pieces of joined(content)) {
      const size = pieces.reduce((sum, piece) => sum + piece.byteLength, 0)
      if (bytes + size > options.maxBytes) {
        return { answer: { kind: 'limited', reason: 'larger than announced and than may be streamed' }, bytes }
      }
      await connection.send(chunkHeader(size), ...pieces)
      if (over()) break
      bytes += size
    }
    if (!over()) await connection.send(LAST_CHUNK)
    connection.idleLimit(limits.answerMs)
    options.onSent?.()
    await settled
  } finally {
    connection.close()
  }
  signal.throwIfAborted()
  return { answer: answer ?? (await withoutAnswer(ended, options)), bytes }
}

async function withoutAnswer(end: End | null, { address, limits, signal }: StreamOptions): Promise<Answer> {
  // A daemon that is well but has no answer has trouble with this file, and would have it again at the next try.
  if (end?.timedOut && (await isAlive(address, limits, signal))) return { kind: 'failed', reason: 'no answer in time' }
  throw unavailable('The antivirus engine stopped before it had answered.', end?.cause)
}

async function* joined(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array[]> {
  let pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of content) {
    // A chunk of length zero would end the stream.
    if (piece.byteLength === 0) continue
    pieces.push(piece)
    size += piece.byteLength
    if (size < CHUNK_BYTES) continue
    yield pieces
    pieces = []
    size = 0
  }
  if (size > 0) yield pieces
}
