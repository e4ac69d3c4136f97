// Makes what clients see of one distribution agree with the database: one rename for each publish, never back to an older state.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Selectable } from 'kysely'
import type { Offered } from '../formats/format.ts'
import type { Signers } from '../formats/intake-format.ts'
import { allEnded } from '../kernel/all-ended.ts'
import type { Bus } from '../kernel/bus.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import type { Clock } from '../kernel/clock.ts'
import { exists, isMissing } from '../kernel/files.ts'
import { createSerial } from '../kernel/serial.ts'
import { trace } from '../kernel/trace.ts'
import type { Db } from '../store/db.ts'
import type { Pool } from '../store/files/pool.ts'
import type { Paths } from '../store/paths.ts'
import { revisionOf } from '../store/records/served-query.ts'
import type { BackgroundIndexRow, DistributionsTable } from '../store/tables.ts'
import { createFlip } from './flip.ts'
import { offersBetween } from './index/changes.ts'
import type { IndexState } from './index/index-state.ts'
import { createKeptIndex } from './index/kept-index.ts'
import { renderIndex } from './index/render.ts'
import { GenerationGone, linkPackages, writeGeneration, type Unchanged } from './tree/generation.ts'
import { generationName, isVisible, linkedGeneration, treeOf, type Tree } from './tree/tree.ts'
import { cleaningEnded } from './tree/cleaning-claim.ts'
import { unlinkAgain } from './tree/unlink-again.ts'

export interface DistributionPublisherDeps {
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

export interface DistributionPublisher {
  /**
   * Returns when clients see at least the revision that the distribution has now.
   * @returns bytes of indexes written for it, 0 when clients saw it already; and whether files have to be removed from the tree
   */
  publish(): Promise<Published>
  /** The next publish starts from the database alone: neither from memory nor from the blocks on disk. */
  distrust(): void
  /** Writes the blocks to disk unless nothing changed since the last time. */
  save(): Promise<void>
  /** Bytes of memory that the blocks take; 0 when none are kept. */
  keptBytes(): number
  /** Saves the blocks and frees their memory, unless a publish that failed still needs them. */
  drop(): Promise<void>
  /** Runs work while this process does not publish the distribution. */
  exclusively<T>(work: () => Promise<T>): Promise<T>
}

export interface Published {
  bytes: number
  isUntidy: boolean
}

/** The result of an attempt to publish. Every result but the bytes of a generation that is live now leads to another attempt. */
type Attempt =
  | number
  /** another process published the same revision or a later one, or removed files from the tree meanwhile */
  | 'overtaken'
  /** a package was deleted after the index was read, and its file with it */
  | 'package_deleted'

export function createDistributionPublisher(deps: DistributionPublisherDeps, codename: string): DistributionPublisher {
  const { db } = deps
  const offered = deps.offered(codename)
  const { format, distribution } = offered
  const tree = treeOf(deps.paths, format, distribution)
  const index = createKeptIndex(db, offered, join(tree.base, 'blocks.cache'))
  const exclusively = createSerial()
  const { reserveDate, flip } = createFlip(deps, tree, distribution)
  /** Revision of the first attempt that linked packages and did not go live. */
  let linkedInVain: number | null = null

  async function publish(): Promise<Published> {
    const bytes = await publishLive(performance.now())
    if (linkedInVain === null) return { bytes, isUntidy: false }
    const isUntidy = await unlinkAgain(db, codename, linkedInVain)
    linkedInVain = null
    return { bytes, isUntidy }
  }

  async function publishLive(started: number): Promise<number> {
    for (;;) {
      const row = await db
        .selectFrom('distributions')
        .selectAll()
        .where('codename', '=', codename)
        .executeTakeFirstOrThrow()
      const isLive = row.generation !== null && (await isVisible(tree, row.generation))
      if (isLive && row.published_revision >= row.revision) return 0
      const about = { 'gatehouse.distribution': codename, 'gatehouse.revision': row.revision }
      const ended = await trace('publish', about, async (seen) => {
        const how = await attempt(row, started)
        seen['gatehouse.outcome'] = typeof how === 'number' ? 'published' : how
        return how
      })
      if (typeof ended === 'number') return ended
    }
  }

  async function attempt(row: Selectable<DistributionsTable>, started: number): Promise<Attempt> {
    // The date is committed before it is used: 3-6 ms that run in parallel with the other work.
    const [state, seconds] = await allEnded([
      trace('publish follow', {}, index.followed),
      trace('publish reserve date', {}, reserveDate),
    ])
    const { revision, cleaning } = state
    if (cleaning.active) {
      await cleaningEnded(db, codename)
      return 'overtaken'
    }
    const backgroundIndexes = await present(tree, row.background_indexes)
    const unchanged = await unchangedIn(state, JSON.stringify(backgroundIndexes))
    const render = () =>
      renderIndex(state, offered, {
        architectures: distribution.architectures.filter((arch) => !unchanged?.architectures.includes(arch)),
        date: new Date(seconds * 1000),
        signers: deps.signers,
        backgroundIndexes,
      })
    const isFirstAttempt = linkedInVain === null
    linkedInVain ??= revision
    const [files, areLinked] = await allEnded([
      trace('publish render', {}, render),
      trace('publish link packages', {}, () => linkAll(state)),
    ])
    if (!areLinked) return 'package_deleted'
    deps.checkpoint('tree-linked')
    const name = generationName(revision, seconds)
    const generation = join(tree.base, name)
    let bytes: number
    try {
      bytes = await trace('publish write generation', {}, () =>
        writeGeneration(tree, offered, name, { files, backgroundIndexes, unchanged }),
      )
    } catch (error) {
      await rm(generation, { recursive: true, force: true }).catch(deps.onError)
      if (!(error instanceof GenerationGone)) throw error
      state.published = null
      return 'overtaken'
    }
    deps.checkpoint('generation-written')
    const publication = {
      generation: name,
      revision,
      release_date: seconds,
      causes: causesOf(row, state, backgroundIndexes),
    }
    const flipped = await trace('publish flip', {}, () => flip(publication, cleaning.count))
    if (flipped === 'overtaken') {
      await rm(generation, { recursive: true, force: true })
      return 'overtaken'
    }
    if (isFirstAttempt) linkedInVain = null
    state.linked = revision
    state.causes.clear()
    state.published = { generation: name, revision, backgroundIndexes: JSON.stringify(backgroundIndexes) }
    deps.checkpoint('published')
    deps.bus.emit('published', { distribution: codename, revision, milliseconds: performance.now() - started })
    return bytes
  }

  /** Why there is a new publication: why packages entered and left, else why the index is written again. */
  function causesOf(
    row: Selectable<DistributionsTable>,
    { causes, published }: IndexState,
    backgroundIndexes: readonly BackgroundIndexRow[],
  ): string[] {
    if (causes.size > 0) return [...causes].sort()
    if (row.generation === null) return ['initialization']
    const isOther = published !== null && published.backgroundIndexes !== JSON.stringify(backgroundIndexes)
    return [isOther ? 'background_index' : 'rebuild']
  }

  /** The architectures whose index is the same as in the live generation, where each architecture has a separate index. */
  async function unchangedIn(
    { published, changedAt }: IndexState,
    backgroundIndexes: string,
  ): Promise<Unchanged | null> {
    if (!format.independentArchitectures || published?.backgroundIndexes !== backgroundIndexes) return null
    if ((await linkedGeneration(tree.link)) !== published.generation) return null
    const isUnchanged = (arch: string) => (changedAt.get(arch) ?? -1) <= published.revision
    const architectures = distribution.architectures.filter(isUnchanged)
    // Nothing changed since the last publish: the caller wants the index written again.
    if (architectures.length === distribution.architectures.length) return null
    return { generation: published.generation, architectures }
  }

  /** @returns false when a package was deleted since the state was read */
  async function linkAll({ revision, linked }: IndexState): Promise<boolean> {
    try {
      for await (const files of offersBetween(db, codename, linked, revision))
        await linkPackages(tree, offered, deps.pool, files)
      return true
    } catch (error) {
      if (!isMissing(error)) throw error
      if ((await revisionOf(db, codename)) <= revision) throw error
      return false
    }
  }

  return {
    publish: () => exclusively(publish),
    distrust: index.distrust,
    save: () => exclusively(index.save),
    keptBytes: index.bytes,
    drop: () => exclusively(index.drop),
    exclusively,
  }
}

/** Background indexes whose files exist: after a restore the files are missing until the next run makes them again. */
async function present(tree: Tree, indexes: readonly BackgroundIndexRow[]): Promise<BackgroundIndexRow[]> {
  const found = await Promise.all(indexes.map((index) => exists(join(tree.background, index.sha256))))
  return indexes.filter((_, i) => found[i])
}
