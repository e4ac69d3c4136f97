// All indexes of one state of a repository on the disk, and the packages in them.
import { rm } from 'node:fs/promises'
import { refused, type RepositoryIndex, type StagedFile } from '../formats/catalog.ts'
import type { CatalogBatch } from './jobs/packages.ts'
import type { Reading } from './reading.ts'
import { stagingPath } from './roots.ts'
import type { UpstreamDeps } from './source.ts'
import { stage } from './stage.ts'
import type { Transport } from './transport.ts'

export interface StagedCatalog {
  /**
   * Can be read again. A package for all architectures comes once with each index that has it.
   * @param known digests of runs whose packages the caller already has; left out: everything is read
   * @throws Problem('upstream_error') when an index says something that is not to be trusted: nothing of it may be kept
   */
  packages(known?: readonly string[]): AsyncGenerator<CatalogBatch, void, undefined>
  /** Removes the files. */
  remove(): Promise<void>
}

type StagingDeps = Pick<UpstreamDeps, 'stagingDirectory' | 'wait' | 'requireRoom'>

/** As it is fetched. The largest of Debian and Fedora have 10 to 30 MB; plain ones of Ubuntu 90 MB. */
const MOST_INDEX_BYTES = 512 * 1024 ** 2
/** All indexes of a source. */
const MOST_BYTES = 2 * 1024 ** 3
/** Of an index that is larger than its repository says, while its digest is right. */
const MOST_UNLISTED_BYTES = 32 * 1024 ** 2

/** @throws Problem as upstream.ts lists them; nothing stays on the disk then */
export async function stageIndexes(
  transport: Transport,
  reading: Reading,
  indexes: readonly RepositoryIndex[],
  deps: StagingDeps,
): Promise<StagedCatalog> {
  const staged: { index: RepositoryIndex; file: StagedFile }[] = []
  const remove = async () => {
    await Promise.all(staged.map(({ file }) => rm(file.path, { force: true })))
  }
  try {
    let left = MOST_BYTES
    for (const index of indexes) {
      const file = await stageOne(transport, index, left, deps)
      staged.push({ index, file })
      left -= file.sizeBytes
    }
  } catch (error) {
    await remove()
    throw error
  }
  return {
    remove,
    async *packages(known = []) {
      const base = transport.elsewhere?.base ?? null
      for (const { index, file } of staged) yield* reading.packages(file, index, known, base)
    },
  }
}

/** The first form that the repository has: mirrors leave out some of those that are listed. */
async function stageOne(
  transport: Transport,
  { name, from }: RepositoryIndex,
  left: number,
  { stagingDirectory, wait, requireRoom }: StagingDeps,
): Promise<StagedFile> {
  const most = Math.min(MOST_INDEX_BYTES, left)
  const fitting = from.filter(({ sizeBytes }) => sizeBytes <= most)
  if (fitting.length === 0 && from[0])
    throw refused(
      'too_large',
      `${transport.name} lists ${name} with ${from[0].sizeBytes} bytes; at most ${most} more are read of a source`,
    )
  for (const { paths, sizeBytes, isSizeGuess, digest } of fitting) {
    for (const path of paths) {
      const wanted = isSizeGuess
        ? { path, sizeBytes: null, mostBytes: Math.max(sizeBytes, MOST_UNLISTED_BYTES), digest }
        : { path, sizeBytes, mostBytes: sizeBytes, digest }
      await requireRoom?.(wanted.mostBytes)
      const fetched = await stage(transport, wanted, stagingPath(stagingDirectory), wait)
      if (typeof fetched !== 'string') return fetched
    }
  }
  throw refused('missing', `${transport.name} lists ${name} and does not have it`)
}
