// Sends the members of a package out of a reader in batches, because most pieces of content are too small to send alone.
import type { JobSession } from '../readers/session.ts'
import type { Member } from '../ecosystem.ts'

export type MemberEvent =
  /** `file` is the number of the file that has the content */
  | { kind: 'member'; name: string; sizeBytes: number; file: number | null }
  | { kind: 'content'; start: number; end: number }
  /** a file that was not examined, and why */
  | { kind: 'skip'; name: string; reason: string }

/** Members and pieces of their content, in order. */
export interface MemberBatch {
  events: MemberEvent[]
  bytes: Uint8Array
}

export function isMemberBatch(value: unknown): value is MemberBatch {
  const { events, bytes } = (value ?? {}) as Partial<MemberBatch>
  if (!Array.isArray(events) || !(bytes instanceof Uint8Array)) return false
  return events.every((event: unknown) => isEvent(event, bytes.length))
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

function isEvent(event: unknown, most: number): boolean {
  const { kind, name, sizeBytes, file, start, end, reason } = (event ?? {}) as Partial<Record<string, unknown>>
  if (kind === 'content') return isCount(start) && isCount(end) && start <= end && end <= most
  if (kind === 'skip') return typeof name === 'string' && typeof reason === 'string'
  return kind === 'member' && typeof name === 'string' && isCount(sizeBytes) && (file === null || isCount(file))
}

const BATCH_BYTES = 256 * 1024
const BATCH_EVENTS = 256

/** A member, perhaps in a file that the caller already has. */
export interface SentMember extends Member {
  file?: number | null
}

export interface MemberBatches {
  member(member: SentMember): Promise<void>
  skip(name: string, reason: string): Promise<void>
  /** Sends the rest. */
  flush(): Promise<void>
}

export function createMemberBatches({ send }: Pick<JobSession, 'send'>): MemberBatches {
  let events: MemberEvent[] = []
  // Sending copies it.
  const bytes = new Uint8Array(BATCH_BYTES)
  let used = 0

  async function flush(): Promise<void> {
    if (events.length === 0) return
    const full: MemberBatch = { events, bytes: bytes.subarray(0, used) }
    events = []
    used = 0
    await send(full)
  }

  async function note(event: MemberEvent): Promise<void> {
    if (events.length >= BATCH_EVENTS) await flush()
    events.push(event)
  }

  async function content(piece: Uint8Array): Promise<void> {
    for (let at = 0; at < piece.length;) {
      if (used === BATCH_BYTES || events.length >= BATCH_EVENTS) await flush()
      const part = piece.subarray(at, at + BATCH_BYTES - used)
      bytes.set(part, used)
      events.push({ kind: 'content', start: used, end: used + part.length })
      used += part.length
      at += part.length
    }
  }

  return {
    async member({ name, sizeBytes, content: pieces, file = null }) {
      await note({ kind: 'member', name, sizeBytes, file })
      if (file === null) for await (const piece of pieces) await content(piece)
    },
    skip: (name, reason) => note({ kind: 'skip', name, reason }),
    flush,
  }
}
