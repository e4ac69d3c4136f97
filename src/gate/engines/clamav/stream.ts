// One INSTREAM on a connection of its own, for content too large to hold in memory. Knows nothing of packages.
import { readAnswer, type Answer } from './answer.ts'
import { firstAnswer, isAlive } from './daemon.ts'
import { openConnection, unavailable, type ClamavAddress, type ClamavLimits, type End } from './connection.ts'

const COMMAND = Buffer.from('zINSTREAM\0')
const LAST_CHUNK = Buffer.alloc(4)
/** Smaller pieces are joined up to this, so that not every tiny piece of a decompressor costs a turn of the event loop. */
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

/** What clamd wants in front of each chunk: its length in four bytes, big-endian. */
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
  let answer = null as Answer | null
  let ended = null as End | null
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
  let offered = 0
  try {
    await connection.send(COMMAND)
    for await (const pieces of joined(content)) {
      const size = pieces.reduce((sum, piece) => sum + piece.byteLength, 0)
      offered += size
      if (offered > options.maxBytes) {
        return { answer: { kind: 'limited', reason: 'larger than announced and than may be streamed' }, bytes }
      }
      await connection.send(chunkHeader(size), ...pieces)
      if (over()) break
      bytes = offered
    }
    if (!over()) await connection.send(LAST_CHUNK)
    connection.idleLimit(limits.answerMs)
    options.onSent?.()
    await settled
  } finally {
    connection.close()
  }
  signal.throwIfAborted()
  return { answer: answer ?? (await withoutAnswer(ended, offered, options)), bytes }
}

async function withoutAnswer(end: End | null, offered: number, options: StreamOptions): Promise<Answer> {
  const { address, limits, signal } = options
  if (end?.timedOut) {
    // A daemon that is alive but does not answer has trouble with this file, and would have it again at the next try.
    if (await isAlive(address, limits, signal)) return { kind: 'failed', reason: 'no answer in time' }
  } else if (offered > 0) {
    const refusal = await refusalOf(offered, options)
    if (refusal) return refusal
  }
  throw unavailable('the antivirus engine closed the connection without an answer', end?.cause)
}

/**
 * clamd's answer to a stream of `bytes` bytes before any are sent; null when it would accept them.
 *
 * At its size limit clamd answers and hangs up while the client is still writing. Sometimes (7 of 300 over TCP, 1 of
 * 300 over a unix socket, November 2026) a write fails before the answer is read, and the answer is lost. But clamd
 * judges a chunk by its announced length, so the question can be repeated without the bytes.
 */
async function refusalOf(bytes: number, { address, limits, signal }: StreamOptions): Promise<Answer | null> {
  const header = chunkHeader(Math.min(bytes, 0xffffffff))
  const said = await firstAnswer(address, limits, signal, [COMMAND, header], { hangUp: true })
  if (typeof said !== 'string') return null
  const answer = readAnswer(said)
  return answer.kind === 'limited' ? answer : null
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
