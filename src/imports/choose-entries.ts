// Finds the catalog entries that people ask for by name.
import { sql } from 'kysely'
import { Problem } from '../domain/problem.ts'
import { archsOf } from '../formats/architectures.ts'
import type { Offered } from '../formats/format.ts'
import type { Db } from '../store/db.ts'
import type { CatalogRow, SourceRow } from '../store/tables.ts'
import { append } from '../kernel/append.ts'

/** A package of a source. */
export interface PackageRequest {
  source_id: number
  package: string
  /** left out: the newest one */
  version?: string | null | undefined
  /** left out: one that fits the distribution */
  arch?: string | null | undefined
}

export interface Choice<R> {
  request: R
  chosen: { source: SourceRow; entry: CatalogRow } | Problem
}

/**
 * The entry of each request, in their order. A request without an entry gets a Problem: 'not_found' (the source or
 * the package), 'index_empty' (a source that was never synced).
 */
export async function chooseEntries<R extends PackageRequest>(
  db: Db,
  { format, distribution }: Offered,
  requests: readonly R[],
): Promise<Choice<R>[]> {
  const ids = [...new Set(requests.map((request) => request.source_id))]
  const sources = await db.selectFrom('sources').selectAll().where('id', 'in', ids).execute()
  const { rows } = await sql<CatalogRow>`select c.* from
      (select distinct source_id, name from unnest(${requests.map((one) => one.source_id)}::bigint[],
        ${requests.map((one) => one.package)}::text[]) as w (source_id, name)) as wanted
    join catalog c using (source_id, name)`.execute(db)
  const entries = new Map<string, CatalogRow[]>()
  const keyOf = (sourceId: number, name: string) => `${sourceId} ${name}`
  for (const row of rows) {
    const key = keyOf(row.source_id, row.name)
    append(entries, key, row)
  }
  const fitting = archsOf(format, distribution)
  return requests.map((request) => {
    const source = sources.find((one) => one.id === request.source_id)
    if (!source) return { request, chosen: new Problem('not_found', `there is no import source ${request.source_id}`) }
    if (!source.last_sync) {
      const extra = { source_id: source.id }
      return { request, chosen: new Problem('index_empty', `${source.name} was never synced`, extra) }
    }
    const { version, arch } = request
    const entry = (entries.get(keyOf(source.id, request.package)) ?? [])
      .filter(
        (row) => (version ? row.version === version : true) && (arch ? row.arch === arch : fitting.includes(row.arch)),
      )
      .reduce<CatalogRow | null>(
        (best, row) => (best && format.versions.compare(best.version, row.version) >= 0 ? best : row),
        null,
      )
    const wanted = [request.package, version, arch && `(${arch})`].filter(Boolean).join(' ').slice(0, 300)
    return {
      request,
      chosen: entry ? { source, entry } : new Problem('not_found', `${source.name} does not offer ${wanted}`),
    }
  })
}
