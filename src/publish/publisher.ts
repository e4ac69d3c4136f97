// Who asks for a publish, when it runs, and what its failure is called: one queue a distribution.
import { Problem } from '../domain/problem.ts'
import { isStorageFull } from '../kernel/files.ts'
import { createInFlight, type InFlight } from '../kernel/in-flight.ts'
import { createShared } from '../kernel/shared.ts'
import { createCollector } from './tree/collect.ts'
import { createConverge, type Converge, type ConvergeParts } from './converge.ts'

/** One publish for eight uploads costs hardly more than for one; alone, nobody is waited for. */
const PATIENCE_MS = 100
/** Uploaders whose packages were published a moment ago are about to bring their next ones. */
const RETURN_MS = 20

export interface Publisher {
  /**
   * Returns when clients see at least the revision the distribution has now. Callers that arrive together share one run.
   * @throws Problem('publication_failed' or 'storage_full')
   */
  converge(codename: string): Promise<void>
  /** A package that will be published there is on its way: a publish waits a little for it. @returns to be called when it settled or failed */
  expect(codename: string): () => void
  /** Publishes the distribution anew from the database; no process builds on what it keeps in memory. */
  rebuild(codename: string): Promise<void>
  /** Writes the blocks of every distribution that changed since the last time to disk, for a quick start. */
  saveBlocks(): Promise<void>
  /** Converges every distribution that is behind. @returns codenames that could not be */
  recover(): Promise<string[]>
  /** Removes package files from the tree that no live index names and whose grace time is over. */
  removeUnpublished(codename: string): Promise<void>
  /** Removes everything that no client can still be reading, in every distribution. */
  collect(): Promise<void>
}

export interface PublisherDeps extends ConvergeParts {
  known(codename: string): boolean
}

export function createPublisher(parts: PublisherDeps): Publisher {
  const collector = createCollector(parts)
  const queues = new Map<string, Converge & { inFlight: InFlight }>()
  const queueOf = (codename: string) => {
    let queue = queues.get(codename)
    if (!queue) {
      const { run, ...others } = createConverge(parts, codename)
      const inFlight = createInFlight()
      queues.set(
        codename,
        (queue = { run: createShared(run, (queued) => company(inFlight, queued)), inFlight, ...others }),
      )
    }
    return queue
  }

  async function converge(codename: string): Promise<void> {
    try {
      await queueOf(codename).run()
    } catch (error) {
      if (error instanceof Problem) throw error
      parts.onError(error)
      if (isStorageFull(error))
        throw new Problem('storage_full', 'the disk is full: the index could not be written', {}, { cause: error })
      throw new Problem('publication_failed', `the index of ${codename} could not be published`, {}, { cause: error })
    }
  }

  return {
    ...collector,
    converge,
    expect: (codename) => queueOf(codename).inFlight.add(),
    async rebuild(codename) {
      queueOf(codename).forget()
      await parts.db
        .updateTable('distributions')
        .set((eb) => ({ revision: eb('revision', '+', 1), removals_floor: eb('revision', '+', 1) }))
        .where('codename', '=', codename)
        .execute()
      await converge(codename)
    },
    async saveBlocks() {
      for (const { save } of queues.values()) await save()
    },
    async recover() {
      const behind = await parts.db
        .selectFrom('distributions')
        .select('codename')
        .where('initialized_at', 'is not', null)
        .where((eb) => eb.or([eb('published_revision', '<', eb.ref('revision')), eb('generation', 'is', null)]))
        .execute()
      const failed: string[] = []
      for (const { codename } of behind) {
        await converge(codename).catch(() => failed.push(codename))
      }
      return failed
    },
  }
}

async function company(inFlight: InFlight, queued: boolean): Promise<void> {
  if (queued) await new Promise((resolve) => setTimeout(resolve, RETURN_MS))
  await inFlight.drained(PATIENCE_MS)
}
