// All indexes of one state of a repository on the disk, and the packages in them.
import { rm } from 'node:fs/promises'
import {
  refused,
  type CatalogEntry,
  type CatalogReader,
  type RepositoryIndex,
  type StagedFile,
  type UnreadableEntry,
} from '../formats/catalog.ts'
import { createPacer } from '../kernel/pacer.ts'
import { checkPath } from './paths.ts'
import { stagingPath } from './roots.ts'
import { groupRuns } from './runs.ts'
import { stage } from './stage.ts'
import type { Transport } from './transport.ts'

/** A run of records that follow one another in an index. Where it ends depends on its records alone. */
export interface CatalogRun {
  /** of its records, and of the revision of the readers */
  digest: string
  /** how many records it has */
  size: number
  /** null for a run that is known: it was not read */
  packages: { entry: CatalogEntry; /** digest of the record */ fingerprint: string }[] | null
}

export interface CatalogBatch {
  runs: CatalogRun[]
  /** those of the runs that are not known */
  entries: CatalogEntry[]
  /** Entries left out, because this service would refuse such packages. */
  unreadable: UnreadableEntry[]
}

/** @returns those of the digests of runs whose packages the caller already has */
export type KnownRuns = (digests: readonly string[]) => Promise<ReadonlySet<string>>

export interface StagedCatalog {
  /**
   * Can be read again. A package for all architectures comes once with each index that has it.
   * @param known left out: everything is read
   * @throws Problem('upstream_error') when an index says something that is not to be trusted: nothing of it may be kept
   */
  packages(known?: KnownRuns): AsyncGenerator<CatalogBatch, void, undefined>
  /** Removes the files. */
  remove(): Promise<void>
}

/** An index of small, broken entries costs much to read for its size; the indexes of distributions have none. */
const MOST_UNREADABLE = 10_000

/** @throws Problem as upstream.ts lists them; nothing stays on the disk then */
export async function stageIndexes(
  transport: Transport,
  reader: CatalogReader,
  indexes: readonly RepositoryIndex[],
  directory: string,
  wait: (ms: number) => Promise<void>,
): Promise<StagedCatalog> {
  const staged: { index: RepositoryIndex; file: StagedFile }[] = []
  const remove = async () => {
    await Promise.all(staged.map(({ file }) => rm(file.path, { force: true })))
  }
  try {
    for (const index of indexes) staged.push({ index, file: await stageOne(transport, index, directory, wait) })
  } catch (error) {
    await remove()
    throw error
  }
  return {
    remove,
    async *packages(known = async () => new Set()) {
      for (const { index, file } of staged) yield* batches(reader, file, index, known)
    },
  }
}

/** The first form that the repository has: mirrors leave out some of those that are listed. */
async function stageOne(
  transport: Transport,
  { name, from }: RepositoryIndex,
  directory: string,
  wait: (ms: number) => Promise<void>,
): Promise<StagedFile> {
  for (const { paths, sizeBytes, digest } of from) {
    for (const path of paths) {
      const wanted = { path, sizeBytes, mostBytes: sizeBytes, digest }
      const fetched = await stage(transport, wanted, stagingPath(directory), wait)
      if (typeof fetched !== 'string') return fetched
    }
  }
  throw refused('missing', `${transport.name} lists ${name} and does not have it`)
}

async function* batches(
  reader: CatalogReader,
  file: StagedFile,
  index: RepositoryIndex,
  known: KnownRuns,
): AsyncGenerator<CatalogBatch, void, undefined> {
  const pace = createPacer()
  let unreadable = 0
  for await (const runs of groupRuns(reader.records(file, index))) {
    const isKnown = await known(runs.map(({ digest }) => digest))
    const batch: CatalogBatch = { runs: [], entries: [], unreadable: [] }
    for (const { digest, records } of runs) {
      const run: CatalogRun = { digest, size: records.length, packages: isKnown.has(digest) ? null : [] }
      batch.runs.push(run)
      if (!run.packages) continue
      for (const { record, fingerprint } of records) {
        const item = record.read()
        if ('unreadable' in item) {
          if (++unreadable > MOST_UNREADABLE)
            throw refused('malformed', `${index.name} has more than ${MOST_UNREADABLE} entries that cannot be read`)
          batch.unreadable.push(item)
        } else {
          checkPath(item.path, `${index.name}: the entry of ${item.name}`)
          batch.entries.push(item)
          run.packages.push({ entry: item, fingerprint })
        }
        await pace()
      }
    }
    yield batch
  }
}
