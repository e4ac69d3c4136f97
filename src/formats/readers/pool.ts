// A few processes that read untrusted bytes: started when needed, ended when idle, each with one job at a time.
//
// Not tinypool 2 or workerpool 10 in process mode: both end a process with SIGTERM and wait a second before SIGKILL; neither
// watches resident memory or has back-pressure; and a job is one call with one answer, which does not suit a stream of members.
// They would replace only the queue below.
import { availableParallelism } from 'node:os'
import { readerCommand, RESIDENT_MB, type ReaderOptions } from './command.ts'
import type { Message, Outgoing } from './messages.ts'
import { Problem } from '../../domain/problem.ts'
import { isEndedByOthers, startReader, type ReaderProcess } from './process.ts'

/** A reader that one caller uses exclusively. */
export interface Lease {
  post(request: Outgoing): void
  /**
   * The next reply. Hostile bytes may have taken over the reader.
   * @param isExpected checks everything that the caller uses of a reply; an unexpected reply ends the reader
   * @throws Problem('invalid_package') when the bytes are bad, or the reader runs out of memory or time;
   * 'reader_unavailable' when it was ended from outside
   * @throws Error when it ends in another way, answers with an error, or with what was not expected
   */
  receive<T extends Message = Message>(isExpected?: (reply: Message) => reply is T): Promise<T>
  /** Whether the reader ended: it will never answer the open requests. */
  isDead(): boolean
  /** Returns the reader to the pool; it must have no open requests. */
  release(): void
  /** Ends the reader, whatever it is doing. */
  destroy(): void
}

export interface ReaderPool {
  /**
   * Waits while all readers are in use, at most `waitMs`.
   * @throws Problem('reader_unavailable')
   * @param subject begins the error sentences for a job that exceeds its limits; default `reading the package`
   * @param isLarge for a job that takes 100 MB and more: of these one runs at a time, whatever the number of readers
   */
  acquire(subject?: string, isLarge?: boolean): Promise<Lease>
  close(): Promise<void>
}

export interface PoolOptions extends ReaderOptions {
  mostReaders?: number
  /** time for one reply */
  replyMs?: number
  idleMs?: number
  /** time to wait for a reader while all are in use */
  waitMs?: number
}

const IDLE_MS = 10_000
/** 250 MB of xz on a busy processor take a minute. */
const REPLY_MS = 300_000
/** Twice the longest job: after a longer wait, somebody keeps the readers busy. */
const WAIT_MS = 600_000
/** How often the memory of working readers is checked. A check takes 0.02 ms. */
const WATCH_MS = 100
/** Age at which a reader is replaced: long before its limit of processor time. */
const MOST_AGE_MS = 600_000
/** A reader that took more for a job is replaced: V8 and the allocator give little of it back. Most packages leave 110 MB. */
const MOST_IDLE_BYTES = 160 * 1024 ** 2
const SUBJECT = 'reading the package'

interface Slot {
  reader: ReaderProcess
  startedAt: number
  idleTimer: NodeJS.Timeout | null
}

interface Waiting {
  resolve(place: Slot): void
  reject(error: Error): void
}

export function createReaderPool(options: PoolOptions): ReaderPool {
  const { replyMs = REPLY_MS, idleMs = IDLE_MS, waitMs = WAIT_MS, residentMb = RESIDENT_MB } = options
  const mostReaders = options.mostReaders ?? Math.min(4, Math.max(2, availableParallelism()))
  const all = new Set<Slot>()
  const idle: Slot[] = []
  const working = new Set<Slot>()
  const waiting: Waiting[] = []
  /** the end of the large job that began last */
  let lastLarge = Promise.resolve()
  let closed = false
  let watch: NodeJS.Timeout | null = null

  function add(): Slot {
    const reader = startReader(readerCommand(options), replyMs)
    const place: Slot = { reader, startedAt: performance.now(), idleTimer: null }
    all.add(place)
    void reader.ended.then(() => {
      all.delete(place)
      leaveIdle(place)
      // Its place is free for a waiting caller.
      if (!closed) waiting.shift()?.resolve(add())
    })
    return place
  }

  function leaveIdle(place: Slot): void {
    if (place.idleTimer) clearTimeout(place.idleTimer)
    place.idleTimer = null
    const at = idle.indexOf(place)
    if (at !== -1) idle.splice(at, 1)
  }

  function begin(place: Slot, subject: string): void {
    leaveIdle(place)
    place.reader.work(subject)
    working.add(place)
    watch ??= setInterval(() => {
      for (const { reader } of working) reader.watch(residentMb * 1024 ** 2)
    }, WATCH_MS).unref()
  }

  function giveBack(place: Slot): void {
    if (!working.delete(place)) return
    if (working.size === 0 && watch) {
      clearInterval(watch)
      watch = null
    }
    place.reader.rest()
    place.reader.watch(MOST_IDLE_BYTES)
    if (performance.now() - place.startedAt > MOST_AGE_MS) place.reader.kill(new Error('the reader is old'))
    // Its end makes room for a waiting caller.
    if (place.reader.isDead()) return
    const next = waiting.shift()
    if (next) {
      next.resolve(place)
      return
    }
    idle.push(place)
    place.idleTimer = setTimeout(() => {
      leaveIdle(place)
      place.reader.kill(new Error('the reader was idle'))
    }, idleMs).unref()
  }

  /** An idle reader, a new one, or the next one that becomes free. */
  async function find(): Promise<Slot> {
    if (closed) throw isClosed()
    for (let place = idle.pop(); place; place = idle.pop()) if (!place.reader.isDead()) return place
    if (all.size < mostReaders) return add()
    return inLine()
  }

  function inLine(): Promise<Slot> {
    return new Promise<Slot>((resolve, reject) => {
      const one: Waiting = {
        resolve(place) {
          clearTimeout(timer)
          resolve(place)
        },
        reject(error) {
          clearTimeout(timer)
          reject(error)
        },
      }
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(one), 1)
        reject(areBusy(waitMs))
      }, waitMs)
      waiting.push(one)
    })
  }

  /** Waits for its turn. @returns ends it */
  async function turnOfLarge(): Promise<() => void> {
    const before = lastLarge
    let end = () => {}
    lastLarge = new Promise((resolve) => (end = resolve))
    await before
    return end
  }

  return {
    async acquire(subject = SUBJECT, isLarge = false) {
      const endTurn = isLarge ? await turnOfLarge() : () => {}
      const place = await find().catch((error: unknown) => {
        endTurn()
        throw error
      })
      begin(place, subject)
      const { reader } = place
      return {
        post: reader.post,
        receive: reader.receive,
        isDead: reader.isDead,
        release() {
          endTurn()
          giveBack(place)
        },
        destroy: () => reader.kill(new Error('the reader was ended')),
      }
    },
    async close() {
      closed = true
      if (watch) clearInterval(watch)
      for (const { reject } of waiting.splice(0)) reject(isClosed())
      for (const { reader } of all) reader.kill(isClosed())
      await Promise.all([...all].map(({ reader }) => reader.ended))
    },
  }
}

const isClosed = () => new Error('the readers are closed')

const areBusy = (waitMs: number) =>
  new Problem(
    'reader_unavailable',
    `all readers of packages were in use for ${waitMs / 1000} s`,
    {},
    { retryAfterSeconds: 60 },
  )

/** One request with one reply; repeated once on another reader when the first was ended from outside. */
export async function once<T extends Message = Message>(...call: Parameters<typeof onceOnly<T>>): Promise<T> {
  try {
    return await onceOnly(...call)
  } catch (error) {
    if (!isEndedByOthers(error)) throw error
    return onceOnly(...call)
  }
}

async function onceOnly<T extends Message = Message>(
  pool: ReaderPool,
  ask: (lease: Lease) => void,
  isExpected?: (reply: Message) => reply is T,
  subject?: string,
): Promise<T> {
  const lease = await pool.acquire(subject)
  try {
    ask(lease)
    return await lease.receive(isExpected)
  } finally {
    lease.release()
  }
}
