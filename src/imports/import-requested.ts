// Imports packages that people name: finds them in the catalogs, with their dependencies when asked, and brings them in.
import type { Problem } from '../domain/problem.ts'
import { openDistribution, type FormatRegistry } from '../intake/identify.ts'
import { createSerial } from '../kernel/serial.ts'
import type { Db } from '../store/db.ts'
import { chooseEntries, type PackageRequest } from './choose-entries.ts'
import type { ImportedPackage, ImportMany, ImportManyMeta, ImportTally, Wanted } from './import-many.ts'

/** Requests that are looked up together. */
const LOOKED_UP = 100

export interface RequestedResult<R> extends ImportedPackage {
  /** null for a dependency of requested packages */
  request: R | null
}

export interface RequestedOptions {
  /** also what they need and the distribution does not have, from any synced source */
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
    { signal }: RequestedOptions = {},
  ) => {
    const target = openDistribution(registry, codename)
    const serially = createSerial()
    let unknown = 0

    async function* wanted(): AsyncGenerator<Wanted & { request: R }, void, undefined> {
      for await (const page of requests) {
        for (let at = 0; at < page.length; at += LOOKED_UP) {
          for (const { request, chosen } of await chooseEntries(db, target, page.slice(at, at + LOOKED_UP))) {
            if ('entry' in chosen) yield { ...chosen, request }
            else {
              unknown++
              await serially(async () => onResult(notChosen(request, chosen)))
            }
          }
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
