// Writes what listeners know about access. Every replica does: the files are equal, and each replaces the other's in one rename.
import { mkdir, readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../kernel/clock.ts'
import { sha256Hex } from '../../kernel/crypto.ts'
import { ensureContent, exchangeFile, exists, fsyncPath, ifMissing, replaceFile } from '../../kernel/files.ts'
import { createShared } from '../../kernel/shared.ts'
import { factsName, isFactsName, MARKERS, markerOf, signStamp, STAMP_FILE } from '../../serve/access/facts.ts'
import type { Db } from '../../store/db.ts'
import { accessFacts, accessRevision, privatePlaces, type AccessSettings } from './facts-query.ts'

export interface FactsWriter {
  /**
   * Writes the facts before anything is published. On a full disk listeners go on with those that are there, and with none while
   * nothing is private; otherwise they would take a private place for a public one.
   * @throws the error of the disk
   */
  begin(): Promise<void>
  /** Writes the facts now; resolves when listeners can read every change that was committed before the call. */
  write(): Promise<void>
  /** Writes what is due: changes, and a new stamp every few seconds. */
  writeDue(): Promise<void>
}

export interface FactsWriterDeps {
  db: Db
  clock: Clock
  settings(): AccessSettings
  /** `REPOS_DIR/access` */
  directory: string
  /** PEM */
  privateKey: string
  onError(error: unknown): void
}

/** How old a stamp may get without a change. */
const STAMP_MS = 10_000
/** Facts also depend on settings, and on when the directory last confirmed an account: they are made anew this often. */
const WHOLE_MS = 60_000
/** Listeners may still read the facts of the stamp before. */
const KEPT_MS = 10 * 60_000
/** Only the service reads and writes it; listeners run as the same user. */
const MODE = 0o600

export function createFactsWriter(deps: FactsWriterDeps): FactsWriter {
  const { db, clock, settings, directory, privateKey } = deps
  let written: { revision: number; publishers: string; digest: string; madeAt: number; stampedAt: number } | null = null
  /** A job's token ends with its publisher. */
  const publishersNow = () => JSON.stringify(settings().trusted_publishing.publishers)

  async function make(): Promise<void> {
    const now = clock.now()
    const publishers = publishersNow()
    const { facts, revision } = await accessFacts(db, settings(), now)
    const text = JSON.stringify(facts)
    const digest = sha256Hex(text)
    // A place is closed before the facts say so, and opened after.
    await mark(facts.private)
    const path = join(directory, factsName(digest))
    if (!(await exists(path))) await replaceFile(path, text, MODE)
    await stamp(now, digest)
    await unmark(facts.private)
    if (written?.digest !== digest) await removeOld(digest, now)
    written = { revision, publishers, digest, madeAt: now.getTime(), stampedAt: now.getTime() }
  }

  /** Not flushed: after a crash of the machine listeners have the one before, and the service writes the next. */
  const stamp = (at: Date, digest: string) =>
    exchangeFile(join(directory, STAMP_FILE), signStamp({ version: 1, at: at.getTime(), digest }, privateKey), MODE)

  async function mark(places: readonly string[]): Promise<void> {
    const markers = join(directory, MARKERS)
    await mkdir(markers, { recursive: true, mode: 0o700 })
    for (const place of places) await ensureContent(join(markers, markerOf(place)), '', MODE)
    if (places.length > 0) await fsyncPath(markers)
  }

  async function unmark(places: readonly string[]): Promise<void> {
    const kept = new Set(places.map(markerOf))
    for (const name of await readdir(join(directory, MARKERS)))
      if (!kept.has(name)) await unlink(join(directory, MARKERS, name)).catch(ifMissing(undefined))
  }

  async function removeOld(digest: string, now: Date): Promise<void> {
    for (const name of await readdir(directory)) {
      if (!isFactsName(name) || name === factsName(digest)) continue
      const found = await stat(join(directory, name)).catch(ifMissing(null))
      if (found && now.getTime() - found.mtimeMs > KEPT_MS)
        await unlink(join(directory, name)).catch(ifMissing(undefined))
    }
  }

  async function stampAgain(): Promise<void> {
    if (!written) return make()
    const now = clock.now()
    await stamp(now, written.digest)
    written.stampedAt = now.getTime()
  }

  /** One after the other: a stamp that was begun before a change must not replace the stamp of that change. */
  let isWhole = false
  const run = createShared(() => {
    const work = isWhole ? make : stampAgain
    isWhole = false
    return work()
  })
  const write = () => {
    isWhole = true
    return run()
  }

  return {
    write,
    async begin() {
      try {
        await write()
      } catch (error) {
        const isKnown = (await exists(join(directory, STAMP_FILE))) || (await privatePlaces(db)).length === 0
        if (!isKnown) throw error
        deps.onError(error)
      }
    },
    async writeDue() {
      const now = clock.now()
      if (!written || now.getTime() - written.madeAt >= WHOLE_MS || written.publishers !== publishersNow())
        return write()
      if ((await accessRevision(db)) !== written.revision) return write()
      if (now.getTime() - written.stampedAt < STAMP_MS) return
      await run()
    },
  }
}
