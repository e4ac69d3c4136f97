// The interface of publishing for other rooms: one queue for each distribution, and the upkeep of all of them.
import { isProblem, Problem } from '../domain/problem.ts'
import { fullDisk, isStorageFull } from '../kernel/files.ts'
import { createInFlight, type InFlight } from '../kernel/in-flight.ts'
import { createShared } from '../kernel/shared.ts'
import {
  createDistributionPublisher,
  type DistributionPublisher,
  type DistributionPublisherDeps,
  type Published,
} from './distribution-publisher.ts'
import { ensureDistributions, type InitResult } from './initialize.ts'
import { createPace } from './pace.ts'
import { createCleaner } from './tree/cleaner.ts'
import { removeFormerNames } from './tree/former-names.ts'
import { isVisible, treeOf, type Tree } from './tree/generation.ts'
import { MOST, type Bound } from './tree/superseded.ts'
import type { Offered } from '../formats/format.ts'

/** A publish waits this long for uploads that are in the gate: it costs hardly more for eight uploads than for one. */
const GATHER_MS = 100
/** A publish that waited for another one waits this much longer: uploaders that were just answered send their next package. */
const RETURN_MS = 20
/** Blocks of all distributions that are kept in memory besides those of the last one published. */
const KEPT_BYTES = 192 * 1024 * 1024
/** A distribution without a publish for this long keeps no blocks in memory; loading 50,000 packages takes 0.5 s. */
const IDLE_MS = 10 * 60_000
/** A distribution's old generations are removed after this many publishes; the leader also removes them every minute. */
const CLEAN_EVERY = 10
/** They are also removed after this share of the bytes that superseded generations may take. */
const CLEAN_SHARE = 1 / 8

export interface Publisher {
  /**
   * Returns when clients see at least the revision that the distribution has now. Callers that arrive together share one run.
   * @throws Problem('publication_failed' or 'storage_full')
   */
  converge(codename: string): Promise<void>
  /** Announces a package, so that a publish waits for it. @returns a function to call when the package settled or failed */
  expect(codename: string): () => void
  /** Publishes the distribution from the database alone; no process uses its state in memory. */
  rebuild(codename: string): Promise<void>
  /** Inserts missing rows and rebuilds every index; a distribution that fails does not stop the others. */
  initialize(offered: readonly Offered[]): Promise<InitResult[]>
  /** Publishes every distribution again, signed with the current key. @returns those that failed */
  signAgain(): Promise<string[]>
  /**
   * Publishes every distribution that is behind or whose link disagrees with the database, and removes names that no
   * distribution has any more.
   * @returns codenames that failed
   */
  recover(): Promise<string[]>
  /** Resolves when no clean-up after a publish is running. */
  settled(): Promise<void>
  /** Writes changed blocks to disk, for a quick start, and drops idle or excess blocks from memory. */
  saveBlocks(): Promise<void>
  /** Removes package files from the tree that no live index names and whose grace time is over. */
  removeUnpublished(codename: string): Promise<void>
  /** The same for every distribution, also for generations that no client reads any more. Cheap: reads only rows that are due. */
  clean(): Promise<void>
  /** Also removes files that a crash left in the trees; reads their directories. */
  collect(): Promise<void>
}

export interface PublisherDeps extends DistributionPublisherDeps {
  /** whether this build knows the distribution */
  known(codename: string): boolean
  /** bytes of blocks kept in memory; for tests */
  keptBytes?: number
  /** what superseded generations may take; for tests */
  mostSuperseded?: Bound
}

interface Queue {
  distribution: DistributionPublisher
  run(): Promise<void>
  inFlight: InFlight
  usedAt: number
}

export function createPublisher(deps: PublisherDeps): Publisher {
  const { db, clock, onError } = deps
  const cleaner = createCleaner(deps)
  const queues = new Map<string, Queue>()
  const unsettled = new Set<Promise<void>>()

  function queueOf(codename: string): Queue {
    const present = queues.get(codename)
    if (present) return present
    const distribution = createDistributionPublisher(deps, codename)
    const inFlight = createInFlight()
    const pace = createPace()
    const gather = async (queued: boolean) => {
      const slow = pace.wait(performance.now())
      if (slow > 0) await new Promise((resolve) => setTimeout(resolve, slow))
      if (queued) await new Promise((resolve) => setTimeout(resolve, RETURN_MS))
      await inFlight.drained(GATHER_MS)
    }
    const queue: Queue = { distribution, inFlight, run: createShared(publish, gather), usedAt: 0 }
    queues.set(codename, queue)
    const uncleaned = { publishes: 0, bytes: 0 }
    return queue

    async function publish(): Promise<void> {
      queue.usedAt = performance.now()
      const { bytes, isUntidy } = await publishWithRoom(distribution)
      pace.published(bytes, performance.now())
      afterwards(cleanAfter(bytes, isUntidy))
      afterwards(dropExcess())
    }

    async function cleanAfter(bytes: number, isUntidy: boolean): Promise<void> {
      uncleaned.publishes++
      uncleaned.bytes += bytes
      const isMuch = async () => uncleaned.bytes > (await cleaner.bound()).bytes * CLEAN_SHARE
      if (!isUntidy && uncleaned.publishes < CLEAN_EVERY && !(await isMuch())) return
      Object.assign(uncleaned, { publishes: 0, bytes: 0 })
      await clean(codename)
    }
  }

  /** Runs work that only `settled()` waits for. */
  function afterwards(work: Promise<void>): void {
    const reported = work.catch(onError).finally(() => unsettled.delete(reported))
    unsettled.add(reported)
  }

  /** When the disk is full, removes older generations: first those that hardly any client reads, then all but the fewest. */
  async function publishWithRoom(distribution: DistributionPublisher): Promise<Published> {
    for (const leastMs of [MOST.leastMs, 0])
      try {
        return await distribution.publish()
      } catch (error) {
        if (!isStorageFull(error)) throw error
        await freeRoom(leastMs)
      }
    return distribution.publish()
  }

  /** Frees room in every distribution. In distributions that are being published, it waits for the end of the publish. */
  async function freeRoom(leastMs: number): Promise<void> {
    const none = { number: 0, bytes: 0, leastMs }
    await cleaner.due(none).then((codenames) => onEach(codenames, (codename) => clean(codename, none)), onError)
  }

  /** Runs exclusively in the distribution: a publish of this process neither waits for the claim nor has to start again. */
  function clean(codename: string, bound?: Bound): Promise<void> {
    return queueOf(codename).distribution.exclusively(() => cleaner.clean(codename, bound))
  }

  /** Runs the work on each; reports failures and continues. */
  async function onEach(codenames: readonly string[], work: (codename: string) => Promise<void>): Promise<void> {
    for (const codename of codenames.filter(deps.known)) await work(codename).catch(onError)
  }

  async function dropExcess(): Promise<void> {
    const byAge = [...queues.values()].sort((a, b) => b.usedAt - a.usedAt)
    let kept = 0
    for (const [n, { distribution, usedAt }] of byAge.entries()) {
      const bytes = distribution.keptBytes()
      const isExcess = n > 0 && kept + bytes > (deps.keptBytes ?? KEPT_BYTES)
      if (bytes > 0 && (isExcess || performance.now() - usedAt > IDLE_MS)) await distribution.drop()
      else kept += bytes
    }
  }

  async function converge(codename: string): Promise<void> {
    try {
      await queueOf(codename).run()
    } catch (error) {
      if (error instanceof Problem) throw error
      onError(error)
      if (isStorageFull(error))
        throw new Problem(
          'storage_full',
          `${fullDisk(error)} is full: the index could not be written`,
          {},
          { cause: error },
        )
      throw new Problem('publication_failed', `the index of ${codename} could not be published`, {}, { cause: error })
    }
  }

  async function rebuild(codename: string): Promise<void> {
    queueOf(codename).distribution.distrust()
    await db
      .updateTable('distributions')
      .set((eb) => ({ revision: eb('revision', '+', 1), history_floor: eb('revision', '+', 1) }))
      .where('codename', '=', codename)
      .execute()
    await converge(codename)
  }

  async function initialized(): Promise<string[]> {
    const rows = await db
      .selectFrom('distributions')
      .select('codename')
      .where('initialized_at', 'is not', null)
      .execute()
    return rows.map((row) => row.codename)
  }

  return {
    converge,
    expect: (codename) => queueOf(codename).inFlight.add(),
    rebuild,
    async initialize(offered) {
      await ensureDistributions(db, clock, offered)
      const results: InitResult[] = []
      for (const { format, distribution } of offered) {
        const { codename } = distribution
        const result = await rebuild(codename).then(
          () => ({ ok: true, message: 'published' }),
          (error: unknown) => ({ ok: false, message: isProblem(error) ? error.detail : 'failed' }),
        )
        results.push({ codename, format: format.id, ...result })
      }
      return results
    },
    async signAgain() {
      const failed: string[] = []
      for (const codename of (await initialized()).filter(deps.known))
        await rebuild(codename).catch(() => failed.push(codename))
      return failed
    },
    async recover() {
      const rows = await db
        .selectFrom('distributions')
        .select(['codename', 'revision', 'published_revision', 'generation', 'definition'])
        .where('initialized_at', 'is not', null)
        .execute()
      const failed: string[] = []
      for (const { codename, revision, published_revision: published, generation } of rows) {
        const isBehind = published < revision || generation === null
        // After a power loss the link may be older than the commit after it.
        if (!isBehind && (!deps.known(codename) || (await isVisible(treeFor(codename), generation)))) continue
        await converge(codename).catch(() => failed.push(codename))
      }
      await removeFormerNames(deps.paths, rows)
      return failed
    },
    async settled() {
      while (unsettled.size > 0) await Promise.all(unsettled)
    },
    async saveBlocks() {
      for (const { distribution } of queues.values()) await distribution.save()
      await dropExcess()
    },
    removeUnpublished: (codename) => clean(codename),
    async clean() {
      await onEach(await cleaner.due(), (codename) => clean(codename))
    },
    async collect() {
      await onEach(await initialized(), async (codename) => {
        await queueOf(codename).distribution.exclusively(() => cleaner.sweep(codename))
        await clean(codename)
      })
      deps.checkpoint('collected')
    },
  }

  function treeFor(codename: string): Tree {
    const { format, distribution } = deps.offered(codename)
    return treeOf(deps.paths, format, distribution)
  }
}
