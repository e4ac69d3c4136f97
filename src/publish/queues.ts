// One queue for each distribution: who waits for whom, which blocks stay in memory, and what is removed after a publish.
import { isStorageFull } from '../kernel/files.ts'
import { createInFlight, type InFlight } from '../kernel/in-flight.ts'
import { createShared } from '../kernel/shared.ts'
import {
  createDistributionPublisher,
  type DistributionPublisher,
  type DistributionPublisherDeps,
  type Published,
} from './distribution-publisher.ts'
import { createPace } from './pace.ts'
import type { Cleaner } from './tree/cleaner.ts'
import { MOST, type Bound } from './tree/superseded.ts'

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

export interface QueuesDeps extends DistributionPublisherDeps {
  /** whether this build knows the distribution */
  known(codename: string): boolean
  /** bytes of blocks kept in memory; for tests */
  keptBytes?: number
  cleaner: Cleaner
}

export interface Queues {
  /** Publishes the distribution. Callers that arrive together share one run. */
  publish(codename: string): Promise<void>
  /** Announces a package, so that a publish waits for it. @returns a function to call when the package settled or failed */
  expect(codename: string): () => void
  /** The next publish starts from the database alone. */
  distrust(codename: string): void
  /** Runs work while this process does not publish the distribution. */
  exclusively(codename: string, work: () => Promise<void>): Promise<void>
  /** Removes old files of the distribution (`Cleaner`), exclusively. */
  clean(codename: string): Promise<void>
  /** Resolves when no clean-up after a publish is running. */
  settled(): Promise<void>
  /** Writes changed blocks to disk, and drops idle or excess blocks from memory. */
  saveBlocks(): Promise<void>
}

interface Queue {
  distribution: DistributionPublisher
  run(): Promise<void>
  inFlight: InFlight
  usedAt: number
}

export function createQueues(deps: QueuesDeps): Queues {
  const { cleaner, onError } = deps
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
    await cleaner.due(none).then(async (codenames) => {
      for (const codename of codenames.filter(deps.known)) await clean(codename, none).catch(onError)
    }, onError)
  }

  /** Runs exclusively in the distribution: a publish of this process neither waits for the claim nor has to start again. */
  function clean(codename: string, bound?: Bound): Promise<void> {
    return queueOf(codename).distribution.exclusively(() => cleaner.clean(codename, bound))
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

  return {
    publish: (codename) => queueOf(codename).run(),
    expect: (codename) => queueOf(codename).inFlight.add(),
    distrust: (codename) => queueOf(codename).distribution.distrust(),
    exclusively: (codename, work) => queueOf(codename).distribution.exclusively(work),
    clean: (codename) => clean(codename),
    async settled() {
      while (unsettled.size > 0) await Promise.all(unsettled)
    },
    async saveBlocks() {
      for (const { distribution } of queues.values()) await distribution.save()
      await dropExcess()
    },
  }
}
