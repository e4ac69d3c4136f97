// Whether the fix of a package is in its distribution already: published there, or under review.
import { sql } from 'kysely'
import type { Finding } from '../../domain/finding.ts'
import type { PackageFormat } from '../../formats/format.ts'
import type { Db } from '../../store/db.ts'
import type { PackageRow } from '../../store/tables.ts'
import { FIX_VERSION, noteFixVersions } from './fix-versions.ts'

export interface FixedHere {
  /** the newest published version that has the fix */
  fixed_here: string | null
  /** the newest version under review that has it */
  fixed_waiting: string | null
}

type Sibling = Pick<PackageRow, 'version' | 'status'>
type Place = Pick<PackageRow, 'version' | 'distribution' | 'arch'>

const NOWHERE: FixedHere = { fixed_here: null, fixed_waiting: null }

/**
 * @param records of the same name, in any distribution
 * @returns for each finding of the row where its fix is; that of a component inside the package is nowhere: its versions are not those
 *   of the package
 */
export function fixesHere(
  row: Place,
  records: readonly (Sibling & Pick<Place, 'distribution' | 'arch'>)[],
  { id, versions: { compare } }: Pick<PackageFormat, 'id' | 'versions'>,
): (finding: Finding) => FixedHere {
  const siblings = records.filter(({ distribution, arch }) => distribution === row.distribution && arch === row.arch)
  const newest = newestOf(row.version, siblings, compare)
  return ({ package_type: type, fix_versions: fixes }) => (type === id ? having(newest, fixes, compare) : NOWHERE)
}

type Compare = PackageFormat['versions']['compare']

/** The newest version of each status that is later than this one. */
function newestOf(version: string, siblings: readonly Sibling[], compare: Compare): FixedHere {
  const newest = (status: PackageRow['status']) =>
    siblings.reduce<string | null>(
      (best, one) => (one.status === status && compare(one.version, best ?? version) > 0 ? one.version : best),
      null,
    )
  return { fixed_here: newest('published'), fixed_waiting: newest('pending_review') }
}

function having({ fixed_here: here, fixed_waiting: waiting }: FixedHere, fixes: readonly string[], compare: Compare) {
  const has = (version: string | null) =>
    version !== null && fixes.some((fix) => compare(version, fix) >= 0) ? version : null
  return { fixed_here: has(here), fixed_waiting: has(waiting) }
}

/** Versions of one name that are compared. */
export const MOST_SIBLINGS = 100

export interface FixOfRecord extends FixedHere {
  /** the version that fixes all that holds it */
  fix_version: string | null
}

/** For records under review: the version that fixes all that holds each, and where that version is. */
export async function fixesOf(
  db: Db,
  ids: readonly number[],
  compareIn: (codename: string) => Compare,
): Promise<(id: number) => FixOfRecord> {
  if (ids.length > 0) await noteFixVersions(db, compareIn, ids)
  const { rows } = await sql<{ id: number; distribution: string; version: string; fix: string; later: Sibling[] }>`
    select p.id, p.distribution, p.version, p.fix, (
      select coalesce(jsonb_agg(s), '[]') from (
        select s.version, s.status from packages s where s.distribution = p.distribution and s.name = p.name and s.arch = p.arch
          and s.id <> p.id and s.status in ('published', 'pending_review') order by s.id desc limit ${MOST_SIBLINGS}) s) as later
    from (select p.*, ${FIX_VERSION} as fix from packages p where p.id = any(${[...ids]}::bigint[])) p
    where p.fix is not null`.execute(db)
  const found = new Map(
    rows.map(({ id, distribution, version, fix, later }) => {
      const compare = compareIn(distribution)
      return [id, { fix_version: fix, ...having(newestOf(version, later, compare), [fix], compare) }]
    }),
  )
  return (id) => found.get(id) ?? { fix_version: null, ...NOWHERE }
}
