// Imports packages that people name: finds them in the catalogs, on request with their dependencies, and imports them.
import type { Problem } from '../domain/problem.ts'
import type { Offered } from '../formats/format.ts'
import { openDistribution, type FormatRegistry } from '../packages/identify.ts'
import { reservedProblem } from '../packages/reserved-names.ts'
import { createSerial } from '../kernel/serial.ts'
import type { Db } from '../store/db.ts'
import { reservationsOf } from '../store/reservations.ts'
import type { CatalogRow } from '../store/tables.ts'
import { chooseEntries, type PackageRequest } from './choose-entries.ts'
import type { ImportedPackage, ImportMany, ImportManyMeta, ImportTally, Wanted } from './import-many.ts'
import { resolve } from './resolve.ts'
import { resolveIo, sourcesFor } from './resolve-query.ts'

/** Requests that are looked up at a time. */
const LOOKED_UP = 100

export interface RequestedResult<R> extends ImportedPackage {
  /** null for a dependency of requested packages */
  request: R | null
}

export interface RequestedOptions {
  /** also imports what they need and the distribution does not have, from any synced source */
  withDependencies?: boolean
  signal?: AbortSignal
}

/**
 * Results come as they happen, and as `ImportMany` describes them. A request that names nothing is an `error` with the
 * code `not_found` or `index_empty`.
 * @throws Problem('unknown_distribution', 'distribution_inactive'), the signal's reason, and what `requests` or `onResult` throw
 */
export type ImportRequested = <R extends PackageRequest>(
  requests: AsyncIterable<readonly R[]> | Iterable<readonly R[]>,
  distribution: string,
  meta: ImportManyMeta,
  onResult: (result: RequestedResult<R>) => Promise<void> | void,
  options?: RequestedOptions,
) => Promise<ImportTally>

export interface ImportRequestedDeps {
  db: Db
  registry: FormatRegistry
  importMany: ImportMany
}

export function createImportRequested({ db, registry, importMany }: ImportRequestedDeps): ImportRequested {
  return async <R extends PackageRequest>(
    requests: AsyncIterable<readonly R[]> | Iterable<readonly R[]>,
    codename: string,
    meta: ImportManyMeta,
    onResult: (result: RequestedResult<R>) => Promise<void> | void,
    { withDependencies = false, signal }: RequestedOptions = {},
  ) => {
    const target = openDistribution(registry, codename)
    const serially = createSerial()
    let unknown = 0

    async function* wanted(): AsyncGenerator<Wanted & { request: R | null }, void, undefined> {
      /** dependencies that were taken for earlier packages */
      const done = new Set<string>()
      for await (const page of requests) {
        for (let at = 0; at < page.length; at += LOOKED_UP) {
          const found: (Wanted & { request: R })[] = []
          for (const { request, chosen } of await chooseEntries(db, target, page.slice(at, at + LOOKED_UP))) {
            if ('entry' in chosen) found.push({ ...chosen, request })
            else {
              unknown++
              await serially(async () => onResult(notChosen(request, chosen)))
            }
          }
          if (withDependencies) yield* await neededBy(db, target, await unreserved(db, target, found), done)
          yield* found
        }
      }
    }

    const tally = await importMany(
      wanted(),
      codename,
      meta,
      (result, { request }) => serially(async () => onResult({ ...result, request })),
      signal,
    )
    return { ...tally, error: tally.error + unknown }
  }
}

/** Without the packages that will be refused: their dependencies need not be imported. */
async function unreserved<W extends Wanted>(db: Db, { format }: Offered, wanted: readonly W[]): Promise<W[]> {
  const reservations = await reservationsOf(db, format.id)
  return wanted.filter(({ source, entry }) => !reservedProblem(reservations, format, entry, source.id))
}

/** What the packages need besides each other, deepest first. @param done keys of entries to leave out; new ones are added */
export async function neededBy(
  db: Db,
  target: Offered,
  roots: readonly Wanted[],
  done: Set<string>,
): Promise<(Wanted & { request: null })[]> {
  if (roots.length === 0) return []
  const sources = await sourcesFor(db, target, [...new Set(roots.map(({ source }) => source.id))])
  const { needed } = await resolve(
    roots.map(({ entry }) => entry),
    target,
    resolveIo(db, target, sources),
  )
  const byId = new Map(sources.map((source) => [source.id, source]))
  const keyOf = (entry: CatalogRow) => `${entry.source_id} ${entry.path}`
  for (const { entry } of roots) done.add(keyOf(entry))
  return needed.reverse().flatMap(({ candidate }) => {
    const source = byId.get(candidate.source_id)
    if (!source || done.has(keyOf(candidate))) return []
    done.add(keyOf(candidate))
    return [{ source, entry: candidate, request: null }]
  })
}

function notChosen<R extends PackageRequest>(request: R, { code, detail }: Problem): RequestedResult<R> {
  return {
    request,
    source_id: request.source_id,
    package: request.package,
    version: request.version ?? '',
    arch: request.arch ?? '',
    status: 'error',
    size_bytes: 0,
    record_status: null,
    code,
    detail,
  }
}
