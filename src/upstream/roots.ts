// The files of a repository that are read first: fetched only when they changed since the last check.
import { randomUUID } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isProblem } from '../domain/problem.ts'
import { refused, type StagedFile } from '../formats/catalog.ts'
import type { Fetched, Need } from './jobs/describe.ts'
import type { SeenState } from './source.ts'
import { stage } from './stage.ts'
import type { Transport } from './transport.ts'

type Wait = (ms: number) => Promise<void>

export interface Roots {
  /** Fetches a part that the description needs. */
  get(need: Need): Promise<Fetched>
  /** state of the files that were fetched or found unchanged */
  seen(): SeenState['files']
  /** their paths on the disk */
  paths(): string[]
}

/** For an APKINDEX; readers request less for other files. */
const MOST_BYTES = 64 * 1024 ** 2

/** A new name for a file that is being fetched. */
export function stagingPath(directory: string): string {
  return join(directory, `upstream-${randomUUID()}`)
}

/** @param known the state of the last check */
export function createRoots(transport: Transport, known: SeenState['files'], directory: string, wait: Wait): Roots {
  const seen: Record<string, SeenState['files'][string]> = {}
  const staged: string[] = []

  async function fetchOne(
    path: string,
    mostBytes: number,
    before: SeenState['files'][string] | undefined,
  ): Promise<'unchanged' | StagedFile | null> {
    const to = stagingPath(directory)
    const wanted = { path, sizeBytes: null, mostBytes, digest: null, ...(before ? { known: before } : {}) }
    const fetched = await stage(transport, wanted, to, wait)
    if (fetched === 'missing') return null
    if (fetched === 'unchanged' && before) {
      seen[path] = before
      return fetched
    }
    if (fetched === 'unchanged')
      throw refused('malformed', `${transport.name} answered 304 for ${path} without a condition`)
    staged.push(to)
    seen[path] = { ...fetched.validator, sha256: fetched.sha256 }
    return before?.sha256 === fetched.sha256 ? 'unchanged' : fetched
  }

  async function fetchRoots(paths: readonly string[], mostBytes: number): Promise<'unchanged' | (StagedFile | null)[]> {
    const found: ('unchanged' | StagedFile | null)[] = []
    for (const path of paths) found.push(await fetchOne(path, mostBytes, known[path]))
    if (found.length > 0 && found.every((one) => one === 'unchanged')) return 'unchanged'
    // Some files changed, so the unchanged ones are needed as well.
    const all: (StagedFile | null)[] = []
    for (const [index, path] of paths.entries()) {
      const one = found[index] ?? null
      const again = one === 'unchanged' ? await fetchOne(path, mostBytes, undefined) : one
      all.push(again === 'unchanged' ? null : again)
    }
    return all
  }

  async function fetchSmall(path: string, mostBytes: number): Promise<string | null> {
    const to = stagingPath(directory)
    const fetched = await stage(transport, { path, sizeBytes: null, mostBytes, digest: null }, to, wait)
    if (typeof fetched === 'string') return null
    staged.push(to)
    return to
  }

  return {
    async get(need) {
      const mostBytes = Math.min(need.mostBytes, MOST_BYTES)
      if (need.kind === 'roots') return { roots: await fetchRoots(need.paths, mostBytes) }
      return { small: await fetchSmall(need.path, mostBytes).catch(need.isOptional ? unlessTheirs : rethrow) }
    },
    seen: () => seen,
    paths: () => staged,
  }
}

const rethrow = (error: unknown): never => {
  throw error
}

/** Ignores faults of the upstream. */
const unlessTheirs = (error: unknown): null => (isProblem(error, 'upstream_error') ? null : rethrow(error))

/** A small file as bytes; null when it is missing. */
export async function fetchSmall(
  transport: Transport,
  path: string,
  mostBytes: number,
  directory: string,
  wait: Wait,
): Promise<Buffer | null> {
  const to = stagingPath(directory)
  try {
    const fetched = await stage(transport, { path, sizeBytes: null, mostBytes, digest: null }, to, wait)
    return typeof fetched === 'string' ? null : await readFile(to)
  } finally {
    await rm(to, { force: true })
  }
}
