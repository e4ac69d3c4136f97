// Makes what clients read about the names of repositories agree with the database: one rename for each publish of a name.
import { dirname } from 'node:path'
import { sql } from 'kysely'
import { Problem } from '../../domain/problem.ts'
import type { Placed } from '../../formats/intake-format.ts'
import type { Listing, ListingDocument, RegistryFormat } from '../../formats/registry-format.ts'
import type { Checkpoint } from '../../kernel/checkpoint.ts'
import type { Clock } from '../../kernel/clock.ts'
import { exists, fsyncPath, fullDisk, isStorageFull } from '../../kernel/files.ts'
import type { Db } from '../../store/db.ts'
import {
  encodeListing,
  listingPath,
  prepareListing,
  removeListing,
  type PublishedListing,
} from '../../store/files/listing-files.ts'
import type { Paths } from '../../store/paths.ts'
import { listingOf } from './listing-query.ts'

/** Names of one query. */
const PAGE = 200

export interface ListingPublisher {
  /** Returns when clients see all names of a repository as they are now. @throws Problem('publication_failed' or 'storage_full') */
  converge(repository: string): Promise<void>
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
  onError(error: unknown): void
}

export function createListingPublisher(deps: ListingPublisherDeps): ListingPublisher {
  const { db, clock, paths, checkpoint, onError } = deps
  /** the last publish of each name that this process is making */
  const running = new Map<string, Promise<void>>()

  /** Publishes of one name follow each other: the second usually finds nothing to do. */
  function publish(repository: string, name: string): Promise<void> {
    const key = listingPath(paths.listings, repository, name)
    const work = () => publishName(repository, name)
    const mine = (running.get(key) ?? Promise.resolve()).then(work, work).finally(() => {
      if (running.get(key) === mine) running.delete(key)
    })
    running.set(key, mine)
    return mine
  }

  async function publishName(repository: string, name: string): Promise<void> {
    const found = deps.findRepository(repository)
    if (!found) throw new Error(`no repository ${repository}`)
    for (;;) {
      const row = await listingRow(db, repository, name)
      if (!row || row.published_revision >= row.revision) return
      const { format } = found
      const listing = await listingOf(db, repository, name, format.versions, clock.now())
      await flip(repository, row.revision, format, listing, format.documents(listing))
    }
  }

  /** The revision was read before the rows, so the file is at least as new as the revision that it states. */
  async function flip(
    repository: string,
    revision: number,
    format: RegistryFormat,
    listing: Listing,
    documents: readonly ListingDocument[],
  ): Promise<void> {
    const { name } = listing
    const path = listingPath(paths.listings, repository, name)
    const prepared =
      listing.files.length > 0
        ? await prepareListing(path, encodeListing(publishedOf(revision, format, listing, documents)))
        : { replace: () => removeListing(path), discard: async () => {} }
    checkpoint('before-flip')
    try {
      await db.transaction().execute(async (tx) => {
        // Publication only moves forward, whichever replica publishes.
        const { rows } = await sql`update listings set published_revision = ${revision}
          where repository = ${repository} and name = ${name} and published_revision < ${revision} returning 1`.execute(
          tx,
        )
        if (rows.length === 0) return
        await prepared.replace()
        checkpoint('after-flip')
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

  async function converge(repository: string): Promise<void> {
    await publishBehind(repository, (error) => {
      if (error instanceof Problem) throw error
      onError(error)
      if (isStorageFull(error))
        throw new Problem('storage_full', `${fullDisk(error)} is full: the listing could not be written`, {}, { cause: error })
      throw new Problem('publication_failed', `a name of ${repository} could not be published`, {}, { cause: error })
    })
  }

  async function missing(): Promise<{ repository: string; name: string }[]> {
    const lost: { repository: string; name: string }[] = []
    let after = { repository: '', name: '' }
    for (;;) {
      const { rows } = await sql<{ repository: string; name: string }>`select repository, name from listings
        where (repository, name) > (${after.repository}, ${after.name})
          and exists (select from packages p where p.distribution = repository and p.name = listings.name)
        order by repository, name limit ${PAGE}`.execute(db)
      for (const one of rows)
        if (!(await exists(listingPath(paths.listings, one.repository, one.name)))) lost.push(one)
      if (rows.length < PAGE) return lost
      after = rows.at(-1)!
    }
  }

  return {
    converge,
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

const listingRow = (db: Db, repository: string, name: string) =>
  db
    .selectFrom('listings')
    .select(['revision', 'published_revision'])
    .where('repository', '=', repository)
    .where('name', '=', name)
    .executeTakeFirst()

function publishedOf(
  revision: number,
  { id }: RegistryFormat,
  { name, files, modifiedAt }: Listing,
  documents: readonly ListingDocument[],
): PublishedListing {
  return {
    name,
    revision,
    format: id,
    modifiedAt: modifiedAt.getTime(),
    files: Object.fromEntries(
      files.map(({ filename, digests, sizeBytes, version, held }) => [
        filename,
        { sha256: digests.sha256, sizeBytes, version, held: held?.reason ?? null },
      ]),
    ),
    documents: documents.map(({ form, media, text }) => ({ form, media, bytes: Buffer.from(text) })),
  }
}
