// Streams the packages of a source that a mirror selects, by name, in bounded memory.
import { sql, type RawBuilder } from 'kysely'
import type { MirrorSelection } from '../../domain/mirror-selection.ts'
import { archsOf } from '../../formats/architectures.ts'
import type { Offered } from '../../formats/format.ts'
import type { Db } from '../../store/db.ts'
import { escapedForLike } from '../../store/records/search-text.ts'
import type { CatalogRow } from '../../store/tables.ts'

/** Rows read in one query. */
const PAGE = 1000
/** Packages that are compared at a time. */
const TOGETHER = 200

/** A selected package, without the parts of its row that can be large. */
export type Selected = Pick<
  CatalogRow,
  | 'path'
  | 'name'
  | 'version'
  | 'arch'
  | 'size_bytes'
  | 'digest_algorithm'
  | 'digest'
  | 'source_package'
  | 'source_version'
>

export interface Selecting {
  db: Db
  sourceId: number
  selection: MirrorSelection
  target: Offered
  /** paths of what selected packages need: these are selected too */
  dependencies?: ReadonlyMap<string, unknown>
  /** called for selected packages that the distribution would refuse */
  onRefused?(why: string): void
}

/** Names after `after`, up to and including `upTo`; null means no bound. */
export interface NameRange {
  after: string | null
  upTo: string | null
}

/**
 * Selected packages in the database's order of names, some at a time. Of several files of one name, version and
 * architecture it takes the first.
 */
export async function* selected(request: Selecting, range: NameRange): AsyncGenerator<Selected[], void> {
  const { selection, target, dependencies } = request
  const ofName = createNewest(selection.keep_latest, target.format.versions.compare)
  let last: Selected | null = null
  for await (const page of pages(request, range)) {
    const batch: Selected[] = []
    for (const row of page) {
      if (last?.name !== row.name) batch.push(...ofName.take())
      if (dependencies?.has(row.path)) {
        // A dependency may be older than the newest version of its name.
        batch.push(row)
        last = row
        continue
      }
      if (last && isSameVersion(last, row)) continue
      last = row
      const why = target.format.refusalListed?.(row, target.distribution) ?? null
      if (why === null) ofName.add(row)
      else request.onRefused?.(why)
    }
    if (selection.keep_latest === null) batch.push(...ofName.take())
    if (batch.length > 0) yield batch
  }
  const rest = ofName.take()
  if (rest.length > 0) yield rest
}

/** Collects the rows of one name: the newest of each architecture, or all of them. */
function createNewest(most: number | null, compare: (a: string, b: string) => number) {
  let byArch = new Map<string, Selected[]>()
  return {
    add(row: Selected): void {
      const kept = byArch.get(row.arch) ?? []
      kept.push(row)
      if (most !== null && kept.length > most) {
        kept.sort((a, b) => compare(b.version, a.version))
        kept.length = most
      }
      byArch.set(row.arch, kept)
    },
    take(): Selected[] {
      const rows = [...byArch.values()].flat()
      byArch = new Map()
      return rows
    },
  }
}

const isSameVersion = (a: Selected, b: Selected) => a.name === b.name && a.version === b.version && a.arch === b.arch

/** The same packages, in pieces small enough to compare at a time. */
export async function* inPieces(batches: AsyncIterable<Selected[]>): AsyncGenerator<Selected[], void> {
  for await (const batch of batches)
    for (let at = 0; at < batch.length; at += TOGETHER) yield batch.slice(at, at + TOGETHER)
}

async function* pages(request: Selecting, { after: first, upTo }: NameRange): AsyncGenerator<Selected[]> {
  const { db, sourceId, selection, target, dependencies } = request
  const { architectures } = selection
  const taken = architectures.length > 0 ? architectures : archsOf(target.format, target.distribution)
  const own = sql`arch = any(${taken}::text[]) and ${conditions(selection)}`
  const where = sql.join(
    [
      dependencies?.size ? sql`(${own} or path = any(${[...dependencies.keys()]}::text[]))` : own,
      ...(first === null ? [] : [sql`name > ${first}`]),
      ...(upTo === null ? [] : [sql`name <= ${upTo}`]),
    ],
    sql` and `,
  )
  let after: RawBuilder<unknown> = sql`true`
  for (;;) {
    const { rows } = await sql<Selected>`
      select path, name, version, arch, size_bytes, digest_algorithm, digest, source_package, source_version from catalog
      where source_id = ${sourceId} and ${where} and ${after}
      order by name, version, arch, path limit ${PAGE}`.execute(db)
    const last = rows.at(-1)
    if (!last) return
    yield rows
    if (rows.length < PAGE) return
    // The comparison of `name` lets the database start at this name in its index.
    after = sql`name >= ${last.name} and (name, version, arch, path) > (${last.name}, ${last.version}, ${last.arch}, ${last.path})`
  }
}

/** The conditions of a selection, except its architectures. */
export function conditions({ names, globs, exclude, sections }: MirrorSelection): RawBuilder<unknown> {
  const like = (column: RawBuilder<unknown>, patterns: readonly string[]) =>
    sql`${column} like any(${patterns.map(likePattern)}::text[])`
  const name = sql`name`
  const all = [
    sql`true`,
    ...(names.length + globs.length > 0 ? [sql`(name = any(${names}::text[]) or ${like(name, globs)})`] : []),
    ...(sections.length > 0 ? [like(sql`section`, sections)] : []),
    ...(exclude.length > 0 ? [sql`not (${like(name, exclude)})`] : []),
  ]
  return sql.join(all, sql` and `)
}

/** A pattern of `*` and `?` as a LIKE pattern: https://www.postgresql.org/docs/15/functions-matching.html#FUNCTIONS-LIKE */
export function likePattern(glob: string): string {
  return escapedForLike(glob).replaceAll('*', '%').replaceAll('?', '_')
}
