// Adds to a package's members what is packed inside them and the engine does not unpack itself. Bounded.
import { setImmediate } from 'node:timers/promises'
import { isProblem } from '../../domain/problem.ts'
import type { ScanMember } from '../scanner.ts'
import type { EngineLimits } from '../clamav/limits.ts'
import { HEAD_BYTES, kindOf, type Kind } from './kinds.ts'
import { openContainer, type NestedFile } from './open.ts'
import { spool, type Spooled } from './spool.ts'

/** What unpacking one package may cost; what is beyond is skipped and named. */
export interface NestedLimits {
  /** containers inside each other */
  depth: number
  /** unpacked bytes of all containers together */
  bytes: number
  entries: number
  containers: number
}

/** A large Java application unpacks to 2 GB in 200,000 files; a Debian kernel has 4,000 compressed modules. */
export const NESTED_LIMITS: NestedLimits = {
  depth: 16,
  bytes: 8 * 1024 ** 3,
  entries: 2_000_000,
  containers: 100_000,
}

export interface ExpandOptions {
  /** members above this are passed on unopened: the engine does not get them either */
  maxStreamBytes: number
  /** what the engine does with archives; null while it is not known */
  engine: EngineLimits | null
  newPath(): string
  /** a file that was not, or not wholly, looked into */
  skip(name: string, reason: string): void
  bounds?: Partial<NestedLimits>
}

/** A file the engine gets as one stream, and how much it has to unpack in it. */
interface Streamed {
  name: string
  files: number
  bytes: number
  reported: boolean
}

/**
 * Every member, each followed by the files inside it that the engine would not see. A member that is a container is
 * held on disk while it is read twice.
 * @throws what reading the members throws; what is wrong inside a member is skipped and named instead
 */
export async function* expandMembers(
  members: AsyncIterable<ScanMember>,
  options: ExpandOptions,
): AsyncGenerator<ScanMember> {
  const limits = { ...NESTED_LIMITS, ...options.bounds }
  const used = { bytes: 0, entries: 0, containers: 0 }

  for await (const member of members) {
    if (member.sizeBytes > options.maxStreamBytes) {
      yield member
      continue
    }
    const { head, content } = await peek(member.content)
    const kind = kindOf(head)
    if (kind?.kind === 'sealed') skipSealed(member.name, kind)
    if (!kind || kind.kind === 'sealed') {
      yield { ...member, content }
      continue
    }
    const whole = await spool(content, options.newPath)
    try {
      yield { ...member, content: whole.stream() }
      yield* inside(kind, whole, member.name, 1, 1, { name: member.name, files: 0, bytes: 0, reported: false })
    } finally {
      await whole.remove()
    }
  }

  /** The files inside that the engine has to be given. @param engineDepth levels of them that the engine opens itself */
  async function* inside(
    { kind, engineOpens }: Extract<Kind, { engineOpens: boolean }> & { kind: Exclude<Kind['kind'], 'sealed'> },
    container: Spooled,
    name: string,
    depth: number,
    engineDepth: number,
    streamed: Streamed,
  ): AsyncGenerator<ScanMember> {
    if (depth > limits.depth) {
      options.skip(name, `is nested more than ${limits.depth} levels deep`)
      return
    }
    if (++used.containers > limits.containers) {
      options.skip(name, `is beyond the ${limits.containers} archives of one package that are opened`)
      return
    }
    if (engineOpens && engineDepth > (options.engine?.depth ?? Infinity))
      beyondEngine(streamed, `is nested more than ${options.engine?.depth} levels deep`)
    try {
      for await (const entry of openContainer(kind, container, name)) {
        if (++used.entries > limits.entries) throw new Overrun(`${limits.entries} files`)
        // The readers of archives wait for nothing while they have bytes at hand.
        if (used.entries % 64 === 0) await setImmediate()
        yield* inspect(entry, `${name}!/${entry.name}`, depth, engineOpens && !entry.hidden, engineDepth, streamed)
      }
    } catch (error) {
      options.skip(name, reasonOf(error))
    }
  }

  async function* inspect(
    entry: NestedFile,
    name: string,
    depth: number,
    seenByEngine: boolean,
    engineDepth: number,
    streamed: Streamed,
  ): AsyncGenerator<ScanMember> {
    const { head, content, close } = await peek(counted(entry.content, seenByEngine ? streamed : null))
    const kind = kindOf(head)
    if (seenByEngine && ++streamed.files > (options.engine?.files ?? Infinity))
      beyondEngine(streamed, `holds more than ${options.engine?.files} files`)
    if (kind?.kind === 'sealed') skipSealed(name, kind)
    if (seenByEngine && (!kind || kind.kind === 'sealed')) {
      // Where the engine stops without a report, the size of what it unpacks has to be known.
      if (options.engine && !options.engine.reportsExceeded) for await (const _ of content);
      await close()
      return
    }
    const whole = await spool(content, options.newPath)
    try {
      const own = seenByEngine ? streamed : { name, files: 0, bytes: 0, reported: false }
      if (!seenByEngine) yield { name, sizeBytes: whole.sizeBytes, content: whole.stream() }
      if (kind && kind.kind !== 'sealed')
        yield* inside(kind, whole, name, depth + 1, seenByEngine ? engineDepth + 1 : 1, own)
    } finally {
      await whole.remove()
    }
  }

  async function* counted(content: AsyncIterable<Uint8Array>, streamed: Streamed | null): AsyncGenerator<Uint8Array> {
    let size = 0
    for await (const piece of content) {
      used.bytes += piece.length
      size += piece.length
      if (used.bytes > limits.bytes) throw new Overrun(`${limits.bytes} unpacked bytes`)
      if (streamed && (streamed.bytes += piece.length) > (options.engine?.bytes ?? Infinity))
        beyondEngine(streamed, `unpacks to more than ${options.engine?.bytes} bytes`)
      if (streamed && size > (options.engine?.fileBytes ?? Infinity))
        beyondEngine(streamed, `holds a file of more than ${options.engine?.fileBytes} bytes`)
      yield piece
    }
  }

  function skipSealed(name: string, { label, engineOpens }: Extract<Kind, { kind: 'sealed' }>): void {
    if (!engineOpens) options.skip(name, `is a ${label}, which nothing here opens`)
    else if (!options.engine?.reportsEncrypted)
      options.skip(name, `is a ${label}, of which clamd does not report encryption (AlertEncrypted)`)
  }

  function beyondEngine(streamed: Streamed, what: string): void {
    if (streamed.reported) return
    streamed.reported = true
    options.skip(streamed.name, `${what}; clamd stops there without a report (AlertExceedsMax)`)
  }
}

/** A limit of the whole package was reached. */
class Overrun extends Error {}

function reasonOf(error: unknown): string {
  if (error instanceof Overrun) return `is beyond the limit of one package: ${error.message}`
  if (isProblem(error)) return `cannot be opened: ${error.detail.replace(/\.$/, '')}`
  return `cannot be opened: ${(error as Error).message}`
}

/** The first bytes of a content, and the content from its beginning. */
async function peek(
  source: AsyncIterable<Uint8Array>,
): Promise<{ head: Uint8Array; content: AsyncGenerator<Uint8Array>; close(): Promise<void> }> {
  const iterator = source[Symbol.asyncIterator]()
  const pieces: Uint8Array[] = []
  let size = 0
  let ended = false
  while (size < HEAD_BYTES && !ended) {
    const next = await iterator.next()
    if (next.done) ended = true
    else {
      pieces.push(Buffer.from(next.value))
      size += next.value.length
    }
  }
  const head = Buffer.concat(pieces).subarray(0, HEAD_BYTES)
  return {
    head,
    async close() {
      await iterator.return?.()
    },
    content: (async function* () {
      try {
        yield* pieces
        if (ended) return
        for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
      } finally {
        await iterator.return?.()
      }
    })(),
  }
}
