// Formats that work on threads, so that no package holds the event loop or the memory of the service.
import type { PackageFacts } from '../../domain/package.ts'
import { notePacked } from '../../domain/packed-facts.ts'
import { nextTurn } from '../../kernel/next-turn.ts'
import type { Member, ReadOptions } from '../ecosystem.ts'
import type { PackageFormat } from '../format.ts'
import type { Batch, MemberEvent, Reply } from './messages.ts'
import { once, type Lease, type ThreadPool } from './pool.ts'
import { createReader } from './reader.ts'

/** Longer lists of files are split in a turn of their own. */
const SMALL_LINES = 64 * 1024

/**
 * The format with `read`, `members`, `verifySignature` and the entries of large packages on threads of the pool.
 * @param options apply where the caller gives none; asked for each package
 */
export function isolate(format: PackageFormat, pool: ThreadPool, options: () => ReadOptions): PackageFormat {
  const { readAlone, readTogether } = createReader(pool, format.id)
  const isolated: PackageFormat = {
    ...format,
    async read(path, own) {
      return factsOf(await (own ? readAlone(path, own) : readTogether(path, options())))
    },
    async entryOnThread(pkg, distribution) {
      const reply = await once(pool, (lease) => lease.post({ kind: 'entry', format: format.id, pkg, distribution }))
      if (reply.kind !== 'entry') throw unexpected(reply)
      return reply.entry
    },
    members: (path, own = options()) => membersOf(pool, format.id, path, own),
  }
  if (!format.verifySignature) return isolated
  return {
    ...isolated,
    async verifySignature(path, keys) {
      const reply = await once(pool, (lease) => lease.post({ kind: 'verify', format: format.id, path, keys }))
      if (reply.kind !== 'verdict') throw unexpected(reply)
      return reply.verdict
    },
  }
}

async function factsOf(reply: Reply): Promise<PackageFacts> {
  if (reply.kind !== 'facts') throw unexpected(reply)
  const { packed } = reply
  const facts = JSON.parse(packed.facts) as PackageFacts
  // The lines of a large package take as long again.
  if (reply.lines.byteLength > SMALL_LINES) await nextTurn()
  const lines = Buffer.from(reply.lines.buffer).toString('utf8')
  facts.files = lines === '' ? [] : lines.split('\n')
  notePacked(facts, packed)
  return facts
}

async function* membersOf(
  pool: ThreadPool,
  format: string,
  path: string,
  options: ReadOptions,
): AsyncGenerator<Member, void, undefined> {
  const lease = await pool.acquire()
  const stream = createEvents(lease)
  try {
    lease.post({ kind: 'members', format, path, options })
    for (let event = await stream.peek(); event; event = await stream.peek()) {
      stream.take()
      // Content that nobody took, of the member before.
      if (event.kind === 'content') continue
      const place = { isCurrent: true }
      yield {
        name: event.name,
        sizeBytes: event.sizeBytes,
        content: { [Symbol.asyncIterator]: () => stream.content(place) },
      }
      place.isCurrent = false
    }
  } finally {
    await stream.end()
    lease.release()
  }
}

function createEvents(lease: Lease) {
  let batch: Batch = { kind: 'batch', events: [], bytes: new Uint8Array(), last: false }
  let at = 0
  let isOver = false

  /** Loads the next batch where this one is consumed. @returns null at the end */
  async function peek(): Promise<MemberEvent | null> {
    while (at === batch.events.length && !batch.last) {
      const reply = await lease.receive().catch((error: unknown) => {
        isOver = true
        throw error
      })
      if (reply.kind !== 'batch') throw unexpected(reply)
      batch = reply
      at = 0
      isOver = reply.last
      if (!reply.last) lease.post({ kind: 'more' })
    }
    return batch.events[at] ?? null
  }

  return {
    peek,
    take(): void {
      at++
    },
    async *content(place: { isCurrent: boolean }): AsyncGenerator<Uint8Array> {
      while (place.isCurrent) {
        const event = await peek()
        // Asked before, answered after the next member began.
        if (event?.kind !== 'content' || !isStillCurrent(place)) return
        at++
        yield batch.bytes.subarray(event.start, event.end)
      }
    },
    /** Leaves the thread with nothing to answer. */
    async end(): Promise<void> {
      if (isOver) return
      lease.post({ kind: 'stop' })
      try {
        for (let reply = await lease.receive(); reply.kind === 'batch' && !reply.last; reply = await lease.receive());
      } catch {
        // It ended in an error that nobody waits for any more.
      }
    },
  }
}

const isStillCurrent = (place: { isCurrent: boolean }): boolean => place.isCurrent

const unexpected = (reply: Reply) => new Error(`a thread that reads packages answered ${reply.kind}`)
