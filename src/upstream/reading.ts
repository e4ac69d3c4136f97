// Parses and verifies everything of an upstream in readers: this process only passes on the results.
import { resolve } from 'node:path'
import { isProblem } from '../domain/problem.ts'
import {
  refused,
  type MirrorList,
  type PathRules,
  type RefusalReason,
  type RepositoryDescription,
  type RepositoryIndex,
  type StagedFile,
} from '../formats/catalog.ts'
import { askJob, isNothing, ReaderEnded, runJob } from '../formats/readers/job.ts'
import type { ReaderPool } from '../formats/readers/pool.ts'
import { catalogOf } from './jobs/catalog-of.ts'
import type { DescribeArgument, Fetched, Need } from './jobs/describe.ts'
import { isDescribed, isMirrorList } from './jobs/checks.ts'
import { isCatalogBatch, type CatalogBatch, type PackagesArgument } from './jobs/packages.ts'
import type { MirrorsArgument } from './jobs/small.ts'

export interface Reading {
  /** rules for the paths of its packages */
  readonly rules: PathRules
  /**
   * @param fetch fetches the parts of the description
   * @throws Problem('upstream_error')
   */
  describe(
    source: Omit<DescribeArgument, 'type' | 'fetched'>,
    name: string,
    fetch: (need: Need) => Promise<Fetched>,
  ): Promise<RepositoryDescription | 'unchanged'>
  /**
   * @param known digests of runs that need not be read
   * @param base base of paths that lead to packages outside the repository; null where nothing may be read there
   * @throws Problem('upstream_error')
   */
  packages(
    file: StagedFile,
    index: RepositoryIndex,
    known: readonly string[],
    base: string | null,
  ): AsyncGenerator<CatalogBatch, void, undefined>
  /** @throws Problem('upstream_error') */
  mirrors(kind: 'metalink' | 'mirrorlist', document: Uint8Array): Promise<MirrorList>
  /** A digest that is not over the whole file; null where the format has none. @throws Problem('invalid_package') */
  packageDigest(path: string): Promise<string | null>
}

/** Verifying and reading a description of 512 KB takes 100 ms. */
const DESCRIBE_MS = 60_000
/** apt requests three parts: InRelease, then Release and its signature. */
const MOST_NEEDS = 8

/** Readers for short jobs, and readers for indexes: reading an index takes as long as storing its packages. */
export interface UpstreamReaders {
  quick: ReaderPool
  slow: ReaderPool
}

/** @param type of the source */
export function createReading({ quick, slow }: UpstreamReaders, type: string): Reading {
  return {
    rules: catalogOf(type),
    async describe(source, name, fetch) {
      const fetched: Fetched[] = []
      const reason = source.keys.length > 0 ? 'signature' : 'malformed'
      for (let needs = 0; needs <= MOST_NEEDS; needs++) {
        const argument: DescribeArgument = { ...source, type, fetched }
        const described = await withinLimits(reason, `the description of ${name}`, () =>
          askJob(quick, 'upstream-describe', argument, { replyMs: DESCRIBE_MS, isDone: isDescribed }),
        )
        if ('description' in described) return described.description
        fetched.push(await fetch(described.need))
      }
      throw new Error(`the description of ${name} needs more than ${MOST_NEEDS} files`)
    },

    async *packages(file, index, known, base) {
      const argument: PackagesArgument = { type, file, index, known, base }
      const batches = runJob(slow, 'upstream-packages', argument, { isSent: isCatalogBatch, isDone: isNothing })
      try {
        for (;;) {
          const next = await withinLimits('too_large', index.name, () => batches.next())
          if (next.done) return
          yield next.value
        }
      } finally {
        await batches.return(undefined)
      }
    },

    mirrors(kind, document) {
      const argument: MirrorsArgument = { type, kind, document }
      return withinLimits('malformed', `the ${kind}`, () =>
        askJob(quick, 'upstream-mirrors', argument, { replyMs: DESCRIBE_MS, isDone: isMirrorList }),
      )
    },

    packageDigest: (path) =>
      askJob(quick, 'upstream-package-digest', { type, path: resolve(path) }, { isDone: isDigest }),
  }
}

/** If the work ends the reader, the source is refused. */
export async function withinLimits<T>(reason: RefusalReason, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isProblem(error, 'invalid_package') && !(error instanceof ReaderEnded)) throw error
    throw refused(reason, `${what} could not be read within the limits of time and memory`, error)
  }
}

const isDigest = (value: unknown): value is string | null => value === null || typeof value === 'string'
