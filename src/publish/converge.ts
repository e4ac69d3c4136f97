// Makes what clients see of one distribution agree with the database: one rename a publish, forward only.
import { randomBytes } from 'node:crypto'
import { renameSync, symlinkSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { sql } from 'kysely'
import type { Distribution } from '../domain/package.ts'
import type { Offered, PackageFormat, Signers } from '../formats/format.ts'
import type { Bus } from '../kernel/bus.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import type { Clock } from '../kernel/clock.ts'
import { ensureDirectory, exists, fsyncPath, isMissing, removeFile } from '../kernel/files.ts'
import { allEnded } from '../kernel/all-ended.ts'
import type { Db } from '../store/db.ts'
import type { Paths } from '../store/paths.ts'
import type { Pool } from '../store/files/pool.ts'
import type { BackgroundIndexRow } from '../store/tables.ts'
import { loadBlocks, saveBlocks } from './index/block-cache.ts'
import { composeStream } from './index/compose.ts'
import {
  generationName,
  linkedGeneration,
  linkPackages,
  releaseDateOf,
  treeOf,
  writeGeneration,
  type Tree,
} from './tree/generation.ts'
import { emptyState, follow, holdsWhatIsOffered, type IndexState } from './index/index-state.ts'

const AHEAD_SECONDS = 4
const BLOCK_CACHE = 'blocks.cache'

export interface ConvergeParts {
  db: Db
  clock: Clock
  paths: Paths
  pool: Pool
  signers: Signers
  bus: Bus
  checkpoint: Checkpoint
  offered(codename: string): Offered
  onError(error: unknown): void
}

/** The publishing of one distribution; one caller at a time. */
export interface Converge {
  run(): Promise<void>
  /** What is in memory is not trusted by the next run. */
  forget(): void
  /** Writes the blocks to disk, unless nothing changed since the last time. */
  save(): Promise<void>
}

export function createConverge(parts: ConvergeParts, codename: string): Converge {
  const { db, clock, paths } = parts
  let state: IndexState | null = null
  /** what is in memory must not be trusted by the next run */
  let stale = false
  let savedRevision = -1
  let running = false

  async function run(): Promise<void> {
    running = true
    try {
      await publish()
    } finally {
      running = false
    }
  }

  async function publish(): Promise<void> {
    const started = performance.now()
    const { format, distribution } = parts.offered(codename)
    const tree = treeOf(paths, format, distribution)
    for (;;) {
      const row = await db
        .selectFrom('distributions')
        .selectAll()
        .where('codename', '=', codename)
        .executeTakeFirstOrThrow()
      const live = row.generation !== null && (await exists(join(tree.base, row.generation)))
      if (live && row.published_revision >= row.revision) return

      // The date is flushed to the database before it is used: 3-6 ms that need not follow the others.
      const [current, seconds] = await allEnded([followed(format, tree), reserveDate(tree)])
      const { revision, streams, unlinked } = current
      const name = generationName(revision, seconds)
      const extras = await present(tree, row.background_indexes)
      const rendered = format.index({
        distribution,
        revision,
        date: new Date(seconds * 1000),
        count: current.count,
        signers: parts.signers,
        backgroundIndexes: extras,
        compose: async (key, head, tail) => {
          const stream = streams.get(key)
          if (!stream) throw new Error(`the format ${format.id} has no stream ${key}`)
          return composeStream(stream.blocks, head, tail, stream.spec.xz, stream.digests)
        },
      })
      const linked = linkPackages(tree, format, parts.pool, unlinked.values()).then(
        () => true,
        async (error: unknown) => {
          // Deleted since it was read, and its bytes with it: the next look knows.
          if (isMissing(error) && (await isBehind(revision))) return false
          throw error
        },
      )
      const [files, isLinked] = await allEnded([rendered, linked])
      if (!isLinked) continue
      parts.checkpoint('tree-linked')
      const generation = await writeGeneration(tree, format, distribution, name, files, extras).catch(
        async (error: unknown) => {
          await rm(join(tree.base, name), { recursive: true, force: true }).catch(parts.onError)
          throw error
        },
      )
      parts.checkpoint('generation-written')
      const outcome = await flip(tree, format, distribution, generation, revision)
      if (outcome === 'published') {
        unlinked.clear()
        parts.checkpoint('published')
        parts.bus.emit('published', { distribution: codename, revision, milliseconds: performance.now() - started })
        return
      }
      await rm(generation, { recursive: true, force: true })
    }
  }

  return { run, forget: () => (stale = true), save }

  async function isBehind(revision: number): Promise<boolean> {
    const row = await db
      .selectFrom('distributions')
      .select('revision')
      .where('codename', '=', codename)
      .executeTakeFirstOrThrow()
    return row.revision > revision
  }

  async function save(): Promise<void> {
    // Half of a change, or packages not yet in the tree, must not be found again as if they were done.
    if (!state || running || state.unlinked.size > 0 || state.revision === savedRevision) return
    const { format, distribution } = parts.offered(codename)
    const { revision } = state
    await saveBlocks(join(treeOf(paths, format, distribution).base, BLOCK_CACHE), state)
    savedRevision = revision
  }

  /**
   * The Release date, kept before it is used: a crash right after the rename must not lead to an older one. apt ignores
   * an index older than the one it holds, without a word, so it only grows; and apt refuses one that lies more than
   * 10 s in the future (Acquire::Max-FutureTime), so in a burst of more than one publish a second it stands still
   * `AHEAD_SECONDS` before the clock. apt takes an index of equal date.
   */
  async function reserveDate(tree: Tree): Promise<number> {
    const now = Math.floor(clock.now().getTime() / 1000)
    // A database that was lost or restored may know less than clients have seen.
    const seen = releaseDateOf(linkedGeneration(tree.link))
    const row = await db
      .updateTable('distributions')
      .set({
        release_date: sql`greatest(${seen}::bigint, case when release_date < ${now + AHEAD_SECONDS}::bigint then greatest(${now}::bigint, release_date + 1) else release_date end)`,
      })
      .where('codename', '=', codename)
      .returning('release_date')
      .executeTakeFirstOrThrow()
    return row.release_date
  }

  /** The blocks at the distribution's revision of this moment: kept ones, from disk, or from the database. */
  async function followed(format: PackageFormat, tree: Tree): Promise<IndexState> {
    const kept = stale ? null : state
    const stored = stale || kept ? null : await loadBlocks(join(tree.base, BLOCK_CACHE), format)
    let current = kept ?? stored ?? emptyState(format)
    stale = false
    // A change that fails half-way must not be published later.
    state = null
    await follow(db, current, codename)
    if (stored && !(await holdsWhatIsOffered(db, current, codename))) {
      current = emptyState(format)
      await follow(db, current, codename)
    }
    state = current
    return current
  }

  /**
   * The one moment clients see: a rename under the distribution's row lock, so that publication only moves forward
   * whoever else publishes.
   */
  async function flip(
    tree: Tree,
    format: PackageFormat,
    distribution: Distribution,
    generation: string,
    revision: number,
  ): Promise<'published' | 'overtaken'> {
    await ensureDirectory(dirname(tree.link))
    const temporary = join(dirname(tree.link), `.${basename(tree.link)}.${randomBytes(6).toString('hex')}`)
    const target = join(generation, format.layout(distribution).linkTarget)
    symlinkSync(relative(dirname(tree.link), target), temporary)
    parts.checkpoint('before-flip')
    try {
      return await db.transaction().execute(async (tx) => {
        const { rows } = await sql<{ generation: string | null; published_revision: number }>`
          with live as (select codename, generation, published_revision from distributions where codename = ${codename} for update)
          update distributions d set published_revision = ${revision}, generation = ${basename(generation)}, published_at = ${clock.now()}
          from live where d.codename = live.codename returning live.generation, live.published_revision`.execute(tx)
        const [live] = rows
        const stands = live?.generation != null && (await exists(join(tree.base, live.generation)))
        if (stands && live.published_revision >= revision) throw new Overtaken()
        // Another replica reserved its date later and flipped before: apt ignores an index older than the one it holds.
        if (releaseDateOf(linkedGeneration(tree.link)) > releaseDateOf(basename(generation))) throw new Overtaken()
        renameSync(temporary, tree.link)
        parts.checkpoint('after-flip')
        return 'published' as const
      })
    } catch (error) {
      if (error instanceof Overtaken) return 'overtaken'
      throw error
    } finally {
      removeFile(temporary)
      await fsyncPath(dirname(tree.link))
    }
  }
}

/** Takes back the update that found out: somebody else has published what we wanted to, or later. */
class Overtaken extends Error {}

/** Files made behind the packages are lost with the tree they lie in, as after a restore: they come again by themselves. */
async function present(tree: Tree, extras: readonly BackgroundIndexRow[]): Promise<BackgroundIndexRow[]> {
  const there = await Promise.all(extras.map((extra) => exists(join(tree.background, extra.sha256))))
  return extras.filter((_, i) => there[i])
}
