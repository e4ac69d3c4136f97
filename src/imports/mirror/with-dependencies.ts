// Finds the packages that a mirror's selected packages need; the mirror imports these too.
import { sql } from 'kysely'
import { append } from '../../kernel/append.ts'
import type { Db } from '../../store/db.ts'
import type { CatalogRow } from '../../store/tables.ts'
import { byName, offersOf, resolve, type PublishedOffer, type ResolveIo } from '../resolve.ts'
import { resolveIo } from '../resolve-query.ts'
import { compareWithRecords } from './compare.ts'
import { wholeRows } from './missing.ts'
import type { Mirror } from './mirrors.ts'
import type { Refusals } from './refusals.ts'
import { reservedPaths } from './reserved.ts'
import { inPieces, likePattern, selected } from './select.ts'

/** Packages whose requirements are followed at a time. */
const TOGETHER = 200
/** Requirements that are listed. */
const MOST_NAMED = 200

export interface Dependencies {
  /** in the catalog of the source, each with the name of the package that needs it first */
  paths: ReadonlyMap<string, string>
  /** requirements that neither the source nor the distribution meets, as packages state them */
  unresolved: { total: number; requirements: { name: string; needed_by: string }[] }
  /** whether some packages need more than is followed */
  truncated: boolean
}

/**
 * Follows the requirements of each selected package that is present or would be imported. Packages that came to the
 * distribution in other ways count as present. Packages of this mirror count only if its source has nothing newer for them,
 * so dependencies are updated as selected packages are.
 * @returns null for a selection without dependencies
 */
export async function dependenciesOf(
  db: Db,
  mirror: Mirror,
  refusals: Pick<Refusals, 'among'>,
  signal?: AbortSignal,
): Promise<Dependencies | null> {
  if (!mirror.selection.with_dependencies) return null
  const { source, target } = mirror
  const { coming, refused } = await selectedPaths(db, mirror, refusals, signal)
  const selectedOnes = [...coming]
  const paths = new Map<string, string>()
  const unresolved = new Map<string, string>()
  let truncated = false
  for (let at = 0; at < selectedOnes.length; at += TOGETHER) {
    signal?.throwIfAborted()
    const piece = selectedOnes.slice(at, at + TOGETHER).map((path) => ({ path }))
    const roots: CatalogRow[] = []
    for await (const row of wholeRows(db, source.id, piece)) roots.push(row)
    const { needed, missing, isCut } = await resolve(roots, target, lookIn(db, mirror, coming, refused))
    for (const { candidate, neededBy } of needed) {
      if (neededBy === null) continue
      coming.add(candidate.path)
      paths.set(candidate.path, neededBy)
    }
    for (const { text, neededBy } of missing) if (!unresolved.has(text)) unresolved.set(text, neededBy)
    truncated ||= isCut
  }
  const requirements = [...unresolved].slice(0, MOST_NAMED).map(([name, by]) => ({ name, needed_by: by }))
  return { paths, unresolved: { total: unresolved.size, requirements }, truncated }
}

/** The selected packages, in two sets: present or to be imported, and not to be imported. */
async function selectedPaths(db: Db, mirror: Mirror, refusals: Pick<Refusals, 'among'>, signal?: AbortSignal) {
  const { source, selection, target } = mirror
  const coming = new Set<string>()
  const refused = new Set<string>()
  const all = selected({ db, sourceId: source.id, selection, target }, { after: null, upTo: null })
  for await (const piece of inPieces(all)) {
    signal?.throwIfAborted()
    const standings = await compareWithRecords(db, target, piece, await refusals.among(piece))
    const reserved = await reservedPaths(db, mirror, piece)
    piece.forEach(({ path }, index) => {
      const comes = standings[index] === 'present' || (standings[index] === 'missing' && !reserved.has(path))
      ;(comes ? coming : refused).add(path)
    })
  }
  return { coming, refused }
}

/** @param coming packages that count as published. @param refused packages that are not chosen */
function lookIn(
  db: Db,
  mirror: Mirror,
  coming: ReadonlySet<string>,
  refused: ReadonlySet<string>,
): ResolveIo<CatalogRow> {
  const { source, target } = mirror
  const io = resolveIo(db, target, [source], source.id)
  const known = new Map<string, readonly CatalogRow[]>()
  return {
    async published(names) {
      const rows = await fitting(db, mirror, await io.candidates(names))
      const there = new Map([...(await io.published(names))].map(([name, offers]) => [name, [...offers]]))
      for (const row of rows.filter(({ path }) => coming.has(path)))
        for (const [name, offer] of offersOf(row))
          append<string, PublishedOffer>(there, name, { ...offer, package: row.name })
      const choices = rows.filter(({ path }) => !refused.has(path))
      for (const [name, found] of byName(choices, names)) known.set(name, found)
      return there
    },
    // `resolve` has already called `published` with these names.
    candidates: async (names) => [...new Set(names.flatMap((name) => known.get(name) ?? []))],
  }
}

/** Those that the mirror may import, whatever their name: not excluded, of its architectures, not refused by the format. */
async function fitting(db: Db, { selection, target }: Mirror, rows: readonly CatalogRow[]): Promise<CatalogRow[]> {
  const { architectures, exclude } = selection
  const names = [...new Set(rows.map(({ name }) => name))]
  const { rows: excluded } = await sql<{ name: string }>`select name from unnest(${names}::text[]) as n (name)
    where name like any(${exclude.map(likePattern)}::text[])`.execute(db)
  const without = new Set(excluded.map(({ name }) => name))
  return rows.filter(
    (row) =>
      !without.has(row.name) &&
      (architectures.length === 0 || architectures.includes(row.arch)) &&
      (target.format.refusalListed?.(row, target.distribution) ?? null) === null,
  )
}
