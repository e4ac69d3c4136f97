// All indexes of one state of a repository on the disk, and their packages.
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
   * Can be read again. A package for all architectures appears once for each index that contains it.
   * @param known digests of runs whose packages the caller already has; by default everything is read
   * @throws Problem('upstream_error') when an index contains something that cannot be trusted: none of it may be kept
   */
  packages(known?: readonly string[]): AsyncGenerator<CatalogBatch, void, undefined>
  /** Removes the files. */
  remove(): Promise<void>
}

type StagingDeps = Pick<UpstreamDeps, 'stagingDirectory' | 'wait' | 'requireRoom'>

/** Limit of an index as it is fetched. The largest of Debian and Fedora have 10 to 30 MB; plain ones of Ubuntu 90 MB. */
const MOST_INDEX_BYTES = 512 * 1024 ** 2
/** Limit for all indexes of a source together. */
const MOST_BYTES = 2 * 1024 ** 3
/** Limit of an index that is larger than its repository states, although its digest is right. */
const MOST_UNLISTED_BYTES = 32 * 1024 ** 2

/** @throws Problem as listed in upstream.ts; nothing stays on the disk then */
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

/** Stages the first form that the repository has: mirrors omit some of the listed forms. */
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
