// Adds to a package's members the files packed inside them that the engine does not unpack itself. Bounded.
import { setImmediate } from 'node:timers/promises'
import { spool, type Spooled, type SpoolFile } from '../../../formats/archive/spool.ts'
import { isProblem } from '../../../domain/problem.ts'
import type { ScanMember } from '../scanner.ts'
import { createTail, endsAsZip, mayEndAsZip, type Tail } from '../../../formats/archive/zip-end.ts'
import { kindOf, ZIP_BEHIND_PREFIX, type Openable, type Sealed } from './kinds.ts'
import { NESTED_LIMITS, type ExpandLimits } from './limits.ts'
import { openContainer, type NestedFile } from './open.ts'
import { peek } from './peek.ts'

export interface ExpandOptions extends ExpandLimits {
  /** for content that is read twice and too large for memory */
  createFile(): SpoolFile
  /** for a file that was not examined, or not completely */
  skip(name: string, reason: string): Promise<void>
}

/** A member, or a file inside one. */
export interface ExpandedMember extends ScanMember {
  /** number of the file that has the whole content; null for one that is streamed alone */
  file?: number | null
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
 * held on disk while it is read twice. A member that only its end identifies as a container is read again.
 * @param members gives the same members each time
 * @throws what reading the members throws; errors inside a member are passed to `skip` instead
 */
export async function* expandMembers(
  members: () => AsyncIterable<ScanMember>,
  options: ExpandOptions,
): AsyncGenerator<ExpandedMember> {
  const limits = { ...NESTED_LIMITS, ...options.bounds }
  const used = { bytes: 0, entries: 0, containers: 0 }

  const tails: Tail[] = []
  const later = new Set<number>()
  let count = 0
  for await (const member of members()) {
    const index = count++
    if (member.sizeBytes > options.maxStreamBytes) {
      yield member
      continue
    }
    const { head, content } = await peek(member.content)
    const kind = kindOf(head)
    if (kind?.kind === 'sealed') await skipSealed(member.name, kind)
    if (!kind || kind.kind === 'sealed') {
      const watched = watch(content)
      yield { ...member, content: watched.content }
      if (watched.mayBeZip()) later.add(index)
      continue
    }
    const whole = await spool(content, options.createFile)
    try {
      yield { ...member, content: whole.stream(), file: whole.number }
      yield* inside(kind, whole, member.name, 1, 1, streamedAlone(member.name))
    } finally {
      await whole.remove()
    }
  }
  if (later.size > 0) yield* behindPrefix(numbered(members(), later), 0)

  /** Expands each of these files that is a zip with other data in front. Their ends look like the end of a zip. */
  async function* behindPrefix(
    files: AsyncIterable<{ name: string; content: AsyncIterable<Uint8Array> }>,
    depth: number,
  ): AsyncGenerator<ExpandedMember> {
    for await (const { name, content } of files) {
      const whole = await spool(content, options.createFile)
      try {
        if (await endsAsZip(whole)) yield* inside(ZIP_BEHIND_PREFIX, whole, name, depth + 1, 1, streamedAlone(name))
      } finally {
        await whole.remove()
      }
    }
  }

  /** Passes content on and keeps its end. */
  function watch(source: AsyncIterable<Uint8Array>) {
    const tail = tails.pop() ?? createTail()
    tail.clear()
    async function* content(): AsyncGenerator<Uint8Array> {
      for await (const piece of source) {
        tail.add(piece)
        yield piece
      }
    }
    return {
      content: content(),
      /** to be called once, after the content was read */
      mayBeZip() {
        tails.push(tail)
        return mayEndAsZip(tail.bytes())
      },
    }
  }

  /** The files inside that must be sent to the engine. @param engineDepth containers inside each other that it opens itself */
  async function* inside(
    { kind, engineOpens }: Openable,
    container: Spooled,
    name: string,
    depth: number,
    engineDepth: number,
    streamed: Streamed,
  ): AsyncGenerator<ExpandedMember> {
    if (depth > limits.depth) {
      await options.skip(name, `is nested more than ${limits.depth} levels deep`)
      return
    }
    if (++used.containers > limits.containers) {
      await options.skip(name, `is beyond the ${limits.containers} archives of one package that are opened`)
      return
    }
    if (engineOpens && engineDepth > (options.engine?.depth ?? Infinity))
      await beyondEngine(streamed, `is nested more than ${options.engine?.depth} levels deep`)
    const entries = async function* () {
      for await (const entry of openContainer(kind, container, name)) yield { ...entry, name: `${name}!/${entry.name}` }
    }
    const later = new Set<number>()
    let count = 0
    try {
      for await (const entry of entries()) {
        if (++used.entries > limits.entries) throw new Overrun(`${limits.entries} files`)
        // The readers of archives do not yield while they have bytes at hand.
        if (used.entries % 64 === 0) await setImmediate()
        const index = count++
        const lookAgain = () => void later.add(index)
        yield* inspect(entry, depth, engineOpens && !entry.hidden, engineDepth, streamed, lookAgain)
      }
      if (later.size > 0)
        yield* behindPrefix(
          numbered(entries(), later, (content) => counted(content, null)),
          depth,
        )
    } catch (error) {
      await options.skip(name, reasonOf(error))
    }
  }

  async function* inspect(
    { name, ...entry }: NestedFile,
    depth: number,
    seenByEngine: boolean,
    engineDepth: number,
    streamed: Streamed,
    lookAgain: () => void,
  ): AsyncGenerator<ExpandedMember> {
    const { head, content, close } = await peek(counted(entry.content, seenByEngine ? streamed : null))
    const kind = kindOf(head)
    if (seenByEngine && ++streamed.files > (options.engine?.files ?? Infinity))
      await beyondEngine(streamed, `holds more than ${options.engine?.files} files`)
    if (kind?.kind === 'sealed') await skipSealed(name, kind)
    if (seenByEngine && (!kind || kind.kind === 'sealed')) {
      // Read for two reasons: its end may show that it is a zip, and its bytes count towards the engine's own limits.
      const watched = watch(content)
      for await (const _ of watched.content);
      if (watched.mayBeZip()) lookAgain()
      await close()
      return
    }
    const whole = await spool(content, options.createFile)
    try {
      const own = seenByEngine ? streamed : streamedAlone(name)
      if (!seenByEngine) yield { name, sizeBytes: whole.sizeBytes, content: whole.stream(), file: whole.number }
      if (kind && kind.kind !== 'sealed')
        yield* inside(kind, whole, name, depth + 1, seenByEngine ? engineDepth + 1 : 1, own)
      else if (await endsAsZip(whole)) yield* inside(ZIP_BEHIND_PREFIX, whole, name, depth + 1, 1, own)
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
        await beyondEngine(streamed, `unpacks to more than ${options.engine?.bytes} bytes`)
      if (streamed && size > (options.engine?.fileBytes ?? Infinity))
        await beyondEngine(streamed, `holds a file of more than ${options.engine?.fileBytes} bytes`)
      yield piece
    }
  }

  async function skipSealed(name: string, { label, engineOpens }: Sealed): Promise<void> {
    if (!engineOpens) await options.skip(name, `is a ${label}, which nothing here opens`)
    else if (!options.engine?.reportsEncrypted)
      await options.skip(name, `is a ${label}, of which clamd does not report encryption (AlertEncrypted)`)
  }

  async function beyondEngine(streamed: Streamed, what: string): Promise<void> {
    if (streamed.reported) return
    streamed.reported = true
    await options.skip(streamed.name, `${what}; clamd stops there without a report (AlertExceedsMax)`)
  }
}

const streamedAlone = (name: string): Streamed => ({ name, files: 0, bytes: 0, reported: false })

/** Yields the files with these numbers and removes the numbers from the set; reads nothing after the last one. */
async function* numbered<F extends { content: AsyncIterable<Uint8Array> }>(
  files: AsyncIterable<F>,
  wanted: Set<number>,
  through = (content: AsyncIterable<Uint8Array>) => content,
): AsyncGenerator<F> {
  let count = 0
  for await (const file of files) {
    if (wanted.delete(count++)) yield { ...file, content: through(file.content) }
    if (wanted.size === 0) return
  }
}

/** A limit of the whole package was reached. */
class Overrun extends Error {}

function reasonOf(error: unknown): string {
  if (error instanceof Overrun) return `is beyond the limit of one package: ${error.message}`
  if (isProblem(error)) return `cannot be opened: ${error.detail.replace(/\.$/, '')}`
  return `cannot be opened: ${(error as Error).message}`
}
