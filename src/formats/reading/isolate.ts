// Formats that work in readers, so that no package blocks the event loop or uses the memory or rights of the service.
import type { PackageFacts } from '../../domain/package.ts'
import { notePacked } from '../../domain/packed-facts.ts'
import { nextTurn } from '../../kernel/next-turn.ts'
import type { ReadOptions } from '../ecosystem.ts'
import type { IntakeFormat } from '../intake-format.ts'
import { isNothing, runJob } from '../readers/job.ts'
import { once, type ReaderPool } from '../readers/pool.ts'
import type { Message } from '../readers/messages.ts'
import type { Bring } from './bring.ts'
import { isMemberBatch } from './member-batches.ts'
import { readMembers } from './member-stream.ts'
import type { MembersArgument } from './members.ts'
import { isEntry, isVerdict, type FactsReply, type Request } from './messages.ts'
import { createReader } from './reader.ts'

/** Longer lists of files are split in a separate turn of the event loop. */
const SMALL_LINES = 64 * 1024

export interface Isolation {
  pool: ReaderPool
  bring: Bring
  /** used if the caller gives none; called for each package */
  options(): ReadOptions
}

/** The format with `read`, `members`, `verifySignature` and the entries of large packages in readers. */
export function isolate<Format extends IntakeFormat>(format: Format, { pool, bring, options }: Isolation): Format {
  const { id } = format
  const { readAlone, readTogether } = createReader(pool, id)
  const ask = <T extends Message>(request: Request, isAnswer: (reply: Message) => reply is T): Promise<T> =>
    once(pool, (lease) => lease.post(request), isAnswer)

  async function within<T>(path: string, work: (path: string) => Promise<T>): Promise<T> {
    const file = await bring(path)
    try {
      return await work(file.path)
    } finally {
      await file.done()
    }
  }

  const isolated: Format = {
    ...format,
    read: (path, own) =>
      within(path, async (at) => factsOf(await (own ? readAlone(at, own) : readTogether(at, options())))),
    async entryInReader(pkg, distribution) {
      return (await ask({ kind: 'entry', format: id, pkg, distribution }, isEntry)).entry
    },
    async *members(path, own = options()) {
      const file = await bring(path)
      try {
        const argument: MembersArgument = { format: id, path: file.path, options: own }
        yield* readMembers(runJob(pool, 'members', argument, { isSent: isMemberBatch, isDone: isNothing }))
      } finally {
        await file.done()
      }
    },
  }
  if (!format.verifySignature) return isolated
  return {
    ...isolated,
    verifySignature: (path, keys) =>
      within(path, async (at) => (await ask({ kind: 'verify', format: id, path: at, keys }, isVerdict)).verdict),
  }
}

async function factsOf({ facts: json, files, lines }: FactsReply): Promise<PackageFacts> {
  const packed = { facts: utf8(json), files }
  const facts = JSON.parse(packed.facts) as PackageFacts
  // Splitting the lines of a large package takes as long again.
  if (lines.byteLength > SMALL_LINES) await nextTurn()
  const text = utf8(lines)
  facts.files = text === '' ? [] : text.split('\n')
  notePacked(facts, packed)
  return facts
}

const utf8 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('utf8')
