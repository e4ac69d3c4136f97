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
import { checkPath } from './paths.ts'
import { stagingPath } from './roots.ts'
import { stage } from './stage.ts'
import type { Transport } from './transport.ts'

export interface CatalogBatch {
  /** at most 500 */
  entries: CatalogEntry[]
  /** Entries left out, because this service would refuse such packages. */
  unreadable: UnreadableEntry[]
}

export interface StagedCatalog {
  /**
   * Can be read again. A package for all architectures comes once with each index that has it.
   * @throws Problem('upstream_error') when an index says something that is not to be trusted: nothing of it may be kept
   */
  packages(): AsyncGenerator<CatalogBatch, void, undefined>
  /** Removes the files. */
  remove(): Promise<void>
}

const BATCH = 500
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
    async *packages() {
      for (const { index, file } of staged) yield* batches(reader, file, index)
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
): AsyncGenerator<CatalogBatch, void, undefined> {
  let batch: CatalogBatch = { entries: [], unreadable: [] }
  let unreadable = 0
  for await (const item of reader.entries(file, index)) {
    if ('unreadable' in item) {
      if (++unreadable > MOST_UNREADABLE)
        throw refused('malformed', `${index.name} has more than ${MOST_UNREADABLE} entries that cannot be read`)
      batch.unreadable.push(item)
    } else {
      checkPath(item.path, `${index.name}: the entry of ${item.name}`)
      batch.entries.push(item)
    }
    if (batch.entries.length + batch.unreadable.length < BATCH) continue
    yield batch
    batch = { entries: [], unreadable: [] }
  }
  if (batch.entries.length + batch.unreadable.length > 0) yield batch
}
