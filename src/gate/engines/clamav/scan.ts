// Scans one package with clamd: which bytes are streamed, how many streams at the same time, and when to stop.
import { createReadStream } from 'node:fs'
import type { ScanMember, ScanTarget } from '../scanner.ts'
import type { ClamavAddress, ClamavLimits } from './connection.ts'
import type { EngineLimits } from './limits.ts'
import { createSession } from './session.ts'
import { scanStream } from './stream.ts'
import { createTally, type Tally } from './tally.ts'

/** Up to this size a member is held in memory and shares the session; a larger one gets a connection of its own. */
const SMALL_BYTES = 256 * 1024
/**
 * The width of all streams at the same time. 5,000 members of 1.5 KB on two cores: one after another 2.6 s, eight at once
 * 1.1 s, 32 at once 1.1 s; a connection for each, four at once, 1.8 s (November 2026).
 */
const WIDTH = 8
/** A large stream counts as this many, so that clamd never keeps more than two of them for one package. */
const LARGE_WIDTH = 4

export interface ScanOptions {
  address: ClamavAddress
  limits: ClamavLimits
  maxStreamBytes: number
  /** the daemon's own limits; null before they were measured */
  engine: EngineLimits | null
  /** ends the scan with its reason */
  signal?: AbortSignal
}

/**
 * Every member is a stream of its own. In a tar of small members, MaxFiles, MaxScanSize and MaxScanTime would apply to
 * the sum of all, and clamd answers OK for content beyond a limit: a member that is a zip of 10,500 files hid the EICAR file
 * after it in the same tar. A tar is not faster either: 200 small members took 14 to 18 s in a tar and 2 to 5 s by themselves
 * with 170,000 signatures; only with two signatures a tar halves the time (clamd 1.4.6 on two busy cores, November 2026).
 *
 * @throws Problem('scanner_unavailable') when the daemon is down, or goes down midway
 */
export async function scanPackage(target: ScanTarget, { signal, ...options }: ScanOptions): Promise<Tally> {
  const tally = createTally(target.filename)
  // Aborted by a finding, a failure, the deadline or the caller, and at the end.
  const halt = new AbortController()
  const stop = halt.signal
  const work = createWork(halt)
  const session = createSession(options.address, options.limits, stop)

  const streamed = (content: AsyncIterable<Uint8Array>, onSent?: () => void) =>
    scanStream(content, { ...options, maxBytes: options.maxStreamBytes, signal: stop, onSent })

  const record: Tally['record'] = (member, answer, bytes) => {
    tally.record(member, answer, bytes)
    if (tally.infected) halt.abort()
  }

  async function small(name: string, pieces: Uint8Array[]): Promise<void> {
    const content = Buffer.concat(pieces)
    const answer = await session.ask(content)
    if (answer) {
      record(name, answer, content.byteLength)
      return
    }
    const alone = await streamed(asStream([content]))
    record(name, alone.answer, alone.bytes)
  }

  async function member({ name, sizeBytes, content }: ScanMember): Promise<void> {
    if (sizeBytes > options.maxStreamBytes) {
      tally.skipMember(name, tooLarge(sizeBytes, options.maxStreamBytes))
      return
    }
    const { pieces, rest } = await readHead(content)
    if (!rest && pieces.length === 0) {
      tally.record(name, { kind: 'clean' }, 0)
      return
    }
    if (!rest) {
      await work.start(1, () => small(name, pieces))
      return
    }
    await work.start(LARGE_WIDTH, async (consumed) => {
      const { answer, bytes } = await streamed(asStream(pieces, rest), consumed)
      record(name, answer, bytes)
    })
  }

  async function raw(): Promise<void> {
    if (target.sizeBytes > options.maxStreamBytes) {
      tally.skipRaw(tooLarge(target.sizeBytes, options.maxStreamBytes))
      return
    }
    const file = createReadStream(target.path)
    try {
      const { answer, bytes } = await streamed(file)
      record(null, answer, bytes)
    } finally {
      file.destroy()
    }
  }

  let late = false as boolean
  const deadline = setTimeout(() => {
    late = true
    halt.abort()
  }, options.limits.overallMs)
  const onAbort = () => halt.abort()
  signal?.addEventListener('abort', onAbort)
  try {
    signal?.throwIfAborted()
    const limits = { maxStreamBytes: options.maxStreamBytes, engine: options.engine }
    for await (const next of target.contents(limits, tally.skipMember)) {
      if (stop.aborted) break
      await member(next)
    }
    await work.finished()
    // Last, so that a finding names its member if it is in one.
    if (!stop.aborted) await raw()
  } catch (error) {
    // An error after the abort is a consequence of it.
    if (!stop.aborted) throw error
  } finally {
    clearTimeout(deadline)
    signal?.removeEventListener('abort', onAbort)
    halt.abort()
    await work.finished()
  }
  if (tally.infected) return tally
  if (work.failure) throw work.failure.error
  signal?.throwIfAborted()
  if (late) tally.skipMember(target.filename, `not finished within ${options.limits.overallMs / 1000} s`)
  return tally
}

interface Work {
  readonly failure: { error: unknown } | null
  /**
   * Waits for room, starts, and returns as soon as the work says that it has consumed its input, at the latest when it
   * ends. Its failure is kept and halts the rest.
   */
  start(width: number, run: (consumed: () => void) => Promise<void>): Promise<void>
  finished(): Promise<void>
}

function createWork(halt: AbortController): Work {
  const underWay = new Set<Promise<void>>()
  let used = 0
  let failure: { error: unknown } | null = null
  return {
    get failure() {
      return failure
    },
    async start(width, run) {
      while (used + width > WIDTH && used > 0) await Promise.race(underWay)
      if (halt.signal.aborted) return
      used += width
      let consumed = () => {}
      const handedOver = new Promise<void>((resolve) => (consumed = resolve))
      const running = run(consumed)
        .catch((error: unknown) => {
          if (halt.signal.aborted) return
          failure = { error }
          halt.abort()
        })
        .finally(() => {
          used -= width
          underWay.delete(running)
          consumed()
        })
      underWay.add(running)
      // Small work has its input in hand already.
      if (width > 1) await handedOver
    },
    async finished() {
      await Promise.all(underWay)
    },
  }
}

/** Reads until the content ends or exceeds `SMALL_BYTES`; in the second case `rest` continues it. */
async function readHead(
  content: AsyncIterable<Uint8Array>,
): Promise<{ pieces: Uint8Array[]; rest: AsyncIterator<Uint8Array> | null }> {
  const iterator = content[Symbol.asyncIterator]()
  const pieces: Uint8Array[] = []
  for (let size = 0; size <= SMALL_BYTES;) {
    const next = await iterator.next()
    if (next.done) return { pieces, rest: null }
    const { value } = next
    if (value.byteLength > 0) pieces.push(value)
    size += value.byteLength
  }
  return { pieces, rest: iterator }
}

async function* asStream(
  pieces: Uint8Array[],
  rest: AsyncIterator<Uint8Array> | null = null,
): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces
    if (!rest) return
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    // Ends the member's content after an early exit, so that the next member can be read.
    await rest?.return?.()
  }
}

const tooLarge = (size: number, limit: number) =>
  `${size} bytes are more than the ${limit} bytes that are streamed to the antivirus engine`
