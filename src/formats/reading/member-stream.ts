// The members of a package as a reader sends them: a caller may leave content and members unread.
import { createReadStream } from 'node:fs'
import type { SpoolFiles } from '../readers/spool-files.ts'
import type { Member } from '../ecosystem.ts'
import type { MemberBatch, MemberEvent } from './member-batches.ts'

const PIECE_BYTES = 256 * 1024

/**
 * @param batches from a job that uses `createMemberBatches`; ended with this loop
 * @param skip is called for each file that the reader did not examine, in the order of the members
 */
export async function* readMembers(
  batches: AsyncGenerator<MemberBatch, void, undefined>,
  files?: SpoolFiles,
  skip: (name: string, reason: string) => void = () => {},
): AsyncGenerator<Member, void, undefined> {
  let batch: MemberBatch = { events: [], bytes: new Uint8Array() }
  let at = 0

  /** Loads the next batch when this one is consumed. @returns null at the end */
  async function peek(): Promise<MemberEvent | null> {
    while (at === batch.events.length) {
      const next = await batches.next()
      if (next.done) return null
      batch = next.value
      at = 0
    }
    return batch.events[at] ?? null
  }

  async function* sent(place: { isCurrent: boolean }): AsyncGenerator<Uint8Array> {
    while (place.isCurrent) {
      const event = await peek()
      // The next member may have begun while `peek` waited.
      if (event?.kind !== 'content' || !isStillCurrent(place)) return
      at++
      yield batch.bytes.subarray(event.start, event.end)
    }
  }

  try {
    for (let event = await peek(); event; event = await peek()) {
      at++
      if (event.kind === 'skip') skip(event.name, event.reason)
      // Skips unread content of the previous member.
      if (event.kind !== 'member') continue
      const { name, sizeBytes, file } = event
      const place = { isCurrent: true }
      const path = file === null ? null : (files?.path(file) ?? null)
      const content = () => (path === null ? sent(place) : readFile(path))
      yield { name, sizeBytes, content: { [Symbol.asyncIterator]: content } }
      place.isCurrent = false
    }
  } finally {
    await batches.return()
  }
}

/** The file exists until the next member is requested. */
async function* readFile(path: string): AsyncGenerator<Uint8Array> {
  const file = createReadStream(path, { highWaterMark: PIECE_BYTES })
  try {
    for await (const piece of file) yield piece as Buffer
  } finally {
    file.destroy()
  }
}

const isStillCurrent = (place: { isCurrent: boolean }): boolean => place.isCurrent
