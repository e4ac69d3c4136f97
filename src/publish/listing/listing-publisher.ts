// Makes what clients read about the names of repositories agree with the database: one rename for each publish of a name.
import { dirname } from 'node:path'
import { sql } from 'kysely'
import { Problem } from '../../domain/problem.ts'
import type { Placed } from '../../formats/intake-format.ts'
import type { RegistryFormat } from '../../formats/registry-format.ts'
import { askJob } from '../../formats/readers/job.ts'
import type { ReaderPool } from '../../formats/readers/pool.ts'
import type { Checkpoint } from '../../kernel/checkpoint.ts'
import type { Clock } from '../../kernel/clock.ts'
import { exists, fsyncPath, fullDisk, isStorageFull } from '../../kernel/files.ts'
import type { Db } from '../../store/db.ts'
import { listingPath, prepareListing, removeListing } from '../../store/files/listing-files.ts'
import type { Paths } from '../../store/paths.ts'
import { filesOf, stateBehind } from './listing-query.ts'
import { isLarge, isSmall } from './upstream-listing.ts'
import { renderListing, type RenderArgument, type Rendered } from './render.ts'

/** Names of one query. */
const PAGE = 200
/** Names with more files are rendered in a reader: 300 with large manifests take 15 ms, 1,000 take 60. */
const MOST_SMALL_FILES = 300

export interface ListingPublisher {
  /**
   * Returns when clients see these names of a repository as they are now; all of its names that are behind when none are given.
   * A name that fails does not keep the others from being published.
   * @throws Problem('publication_failed' or 'storage_full')
   */
  converge(repository: string, names?: readonly string[]): Promise<void>
  /** Returns when clients see one name as it is now. */
  publish(repository: string, name: string): Promise<void>
  /** Publishes each name again. @throws as `converge` */
  rebuild(repository: string): Promise<void>
  /** Publishes each name that is behind, in all repositories. @returns keys of repositories with a name that failed */
  recover(): Promise<string[]>
  /** Publishes again the names whose file is missing. */
  collect(): Promise<void>
}

export interface ListingPublisherDeps {
  db: Db
  clock: Clock
  paths: Pick<Paths, 'listings'>
  checkpoint: Checkpoint
  findRepository(key: string): Placed<RegistryFormat> | null
  /** of large names */
  readers: ReaderPool
  onError(error: unknown): void
}

export function createListingPublisher(deps: ListingPublisherDeps): ListingPublisher {
  const { db, clock, paths, checkpoint, onError } = deps
  /** the last publish of each name that this process is making */
  const running = new Map<string, Promise<void>>()
  /** those that have not begun: whoever asks meanwhile shares them */
  const queued = new Map<string, Promise<void>>()

  /** Publishes of one name follow each other. */
  function publish(repository: string, name: string): Promise<void> {
    const key = listingPath(paths.listings, repository, name)
    const waiting = queued.get(key)
    if (waiting) return waiting
    const work = () => {
      queued.delete(key)
      return publishName(repository, name)
    }
    const mine = (running.get(key) ?? Promise.resolve()).then(work, work).finally(() => {
      if (running.get(key) === mine) running.delete(key)
    })
    running.set(key, mine)
    queued.set(key, mine)
    return mine
  }

  async function publishName(repository: string, name: string): Promise<void> {
    const found = deps.findRepository(repository)
    if (!found) throw new Error(`no repository ${repository}`)
    const { format } = found
    for (let isNewest = false; !isNewest;) {
      // Before the files, so that these are at least as new.
      const state = await stateBehind(db, repository, name)
      if (!state) return
      const { revision, tags, notes, upstream } = state
      const files = await filesOf(db, repository, name, format.versions)
      const local = { name, files, tags, notes, modifiedAt: clock.now() }
      const rendered = await render(format, { format: format.id, revision, local, upstream })
      isNewest = await flip(repository, name, revision, rendered)
    }
  }

  async function render(format: RegistryFormat, argument: RenderArgument): Promise<Rendered> {
    const { local, upstream } = argument
    if (local.files.length <= MOST_SMALL_FILES && (!upstream || isSmall(upstream)))
      return renderListing(format, argument)
    const options = {
      subject: 'rendering the name',
      isLarge: upstream !== null && isLarge(upstream),
      isDone: isRendered,
    }
    return askJob(deps.readers, 'publish-listing', argument, options)
  }

  /** @returns whether clients see the newest revision now, as far as is known */
  async function flip(
    repository: string,
    name: string,
    revision: number,
    { content, nextChangeAt }: Rendered,
  ): Promise<boolean> {
    const path = listingPath(paths.listings, repository, name)
    const prepared = content
      ? await prepareListing(path, content)
      : { replace: () => removeListing(path), discard: async () => {} }
    checkpoint('before-flip')
    try {
      return await db.transaction().execute(async (tx) => {
        // Publication only moves forward, whichever replica publishes.
        const { rows } = await sql<{ revision: number }>`update listings
          set published_revision = ${revision}, next_change_at = ${nextChangeAt}
          where repository = ${repository} and name = ${name} and published_revision < ${revision}
          returning revision`.execute(tx)
        if (!rows[0]) return false
        await prepared.replace()
        checkpoint('after-flip')
        return rows[0].revision === revision
      })
    } finally {
      await prepared.discard()
      await fsyncPath(dirname(path)).catch(() => {})
    }
  }

  async function behind(repository: string | null, after: { repository: string; name: string }) {
    return db
      .selectFrom('listings')
      .select(['repository', 'name'])
      .whereRef('published_revision', '<', 'revision')
      .$if(repository !== null, (query) => query.where('repository', '=', repository))
      .where(sql<boolean>`(repository, name) > (${after.repository}, ${after.name})`)
      .orderBy('repository')
      .orderBy('name')
      .limit(PAGE)
      .execute()
  }

  /** @param failed is called with the error of each name that failed; what it throws ends the run */
  async function publishBehind(
    repository: string | null,
    failed: (error: unknown, repository: string) => void,
  ): Promise<void> {
    let after = { repository: '', name: '' }
    for (;;) {
      const names = await behind(repository, after)
      for (const one of names)
        await publish(one.repository, one.name).catch((error: unknown) => failed(error, one.repository))
      if (names.length < PAGE) return
      after = names.at(-1)!
    }
  }

  async function converge(repository: string, names?: readonly string[]): Promise<void> {
    const failures: unknown[] = []
    const failed = (error: unknown) => {
      if (isStorageFull(error))
        throw new Problem(
          'storage_full',
          `${fullDisk(error)} is full: the listing could not be written`,
          {},
          { cause: error },
        )
      onError(error)
      failures.push(error)
    }
    if (names) for (const name of new Set(names)) await publish(repository, name).catch(failed)
    else await publishBehind(repository, failed)
    if (failures.length === 0) return
    const [cause] = failures
    if (cause instanceof Problem) throw cause
    throw new Problem('publication_failed', `a name of ${repository} could not be published`, {}, { cause })
  }

  async function missing(): Promise<{ repository: string; name: string }[]> {
    const lost: { repository: string; name: string }[] = []
    let after = { repository: '', name: '' }
    for (;;) {
      const { rows } = await sql<{ repository: string; name: string }>`select repository, name from listings
        where (repository, name) > (${after.repository}, ${after.name})
          and (exists (select from packages p where p.distribution = listings.repository and p.name = listings.name)
            or exists (select from upstream_listings u
              where u.repository = listings.repository and u.name = listings.name and u.packed is not null))
        order by repository, name limit ${PAGE}`.execute(db)
      for (const one of rows) if (!(await exists(listingPath(paths.listings, one.repository, one.name)))) lost.push(one)
      if (rows.length < PAGE) return lost
      after = rows.at(-1)!
    }
  }

  return {
    converge,
    publish,
    async rebuild(repository) {
      await db
        .updateTable('listings')
        .set((eb) => ({ revision: eb('revision', '+', 1) }))
        .where('repository', '=', repository)
        .execute()
      await converge(repository)
    },
    async recover() {
      const failed = new Set<string>()
      await publishBehind(null, (error, repository) => {
        onError(error)
        failed.add(repository)
      })
      return [...failed]
    },
    async collect() {
      for (const { repository, name } of await missing())
        await db
          .updateTable('listings')
          .set((eb) => ({ revision: eb('revision', '+', 1) }))
          .where('repository', '=', repository)
          .where('name', '=', name)
          .execute()
      await publishBehind(null, onError)
    },
  }
}

const isRendered = (value: unknown): value is Rendered => {
  const { content, nextChangeAt } = (value ?? {}) as Partial<Rendered>
  const arePieces = Array.isArray(content) && content.every((piece) => piece instanceof Uint8Array)
  return (content === null || arePieces) && (nextChangeAt === null || nextChangeAt instanceof Date)
}
