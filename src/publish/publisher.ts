// The interface of publishing for other rooms: publishes distributions, and keeps their trees in order.
import { isProblem, Problem } from '../domain/problem.ts'
import { fullDisk, isStorageFull } from '../kernel/files.ts'
import { ensureDistributions, type InitResult } from './initialize.ts'
import { createQueues, type QueuesDeps } from './queues.ts'
import { createCleaner } from './tree/cleaner.ts'
import { removeFormerNames } from './tree/former-names.ts'
import type { Bound } from './tree/superseded.ts'
import { sweep } from './tree/sweep.ts'
import { isVisible, treeOf, type Tree } from './tree/tree.ts'
import type { Offered } from '../formats/format.ts'

export interface Publisher {
  /**
   * Returns when clients see at least the revision that the distribution has now. Callers that arrive together share one run.
   * @param names of a repository: the names that changed; a distribution is always published as a whole
   * @throws Problem('publication_failed' or 'storage_full')
   */
  converge(codename: string, names?: readonly string[]): Promise<void>
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

export interface PublisherDeps extends Omit<QueuesDeps, 'cleaner'> {
  /** what superseded generations may take; for tests */
  mostSuperseded?: Bound
}

export function createPublisher(deps: PublisherDeps): Publisher {
  const { db, clock, onError } = deps
  const cleaner = createCleaner(deps)
  const queues = createQueues({ ...deps, cleaner })

  /** Runs the work on each; reports failures and continues. */
  async function onEach(codenames: readonly string[], work: (codename: string) => Promise<void>): Promise<void> {
    for (const codename of codenames.filter(deps.known)) await work(codename).catch(onError)
  }

  async function converge(codename: string): Promise<void> {
    try {
      await queues.publish(codename)
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
    queues.distrust(codename)
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
    expect: queues.expect,
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
    settled: queues.settled,
    saveBlocks: queues.saveBlocks,
    removeUnpublished: queues.clean,
    async clean() {
      await onEach(await cleaner.due(), queues.clean)
    },
    async collect() {
      await onEach(await initialized(), async (codename) => {
        await queues.exclusively(codename, () => sweep(deps, deps.offered(codename)))
        await queues.clean(codename)
      })
      deps.checkpoint('collected')
    },
  }

  function treeFor(codename: string): Tree {
    const { format, distribution } = deps.offered(codename)
    return treeOf(deps.paths, format, distribution)
  }
}
