// The version of a package's source that fixes all that holds it. Versions are compared by the rules of their format, which SQL does
// not know: so they are computed when they are asked for, and kept while their record does not change.
import { sql } from 'kysely'
import type { VersionScheme } from '../../formats/ecosystem.ts'
import type { Db } from '../../store/db.ts'

type Compare = VersionScheme['compare']

/** Records whose findings are read at a time. */
const BATCH = 200
/** Records that one call computes; later calls continue. */
const MOST_COMPUTED = 10_000

/** As SQL on `packages p`: null when no version fixes all, and while none is computed. */
export const FIX_VERSION = sql`(select x.version from fix_versions x where x.package_id = p.id and x.changes = p.changes)`

interface Unknown {
  id: number
  changes: number
  version: string
  distribution: string
  /** the fixed versions of each finding that holds it; empty lists for findings without a fix of this package */
  fixes: string[][] | null
}

/**
 * Computes what is not known yet.
 * @param ids only about these records; by default about all under review
 */
export async function noteFixVersions(db: Db, compareIn: (codename: string) => Compare, ids?: readonly number[]) {
  for (let computed = 0; computed < MOST_COMPUTED;) {
    const unknown = await unknownOf(db, ids)
    if (unknown.length > 0) await store(db, unknown, compareIn)
    computed += unknown.length
    if (unknown.length < BATCH) return
  }
}

async function unknownOf(db: Db, ids: readonly number[] | undefined): Promise<Unknown[]> {
  const about = ids ? sql`p.id = any(${[...ids]}::bigint[])` : sql`true`
  const { rows } = await sql<Unknown>`
    select p.id, p.changes, p.version, p.distribution, (
      select jsonb_agg(distinct case when f.finding->>'package_type' = p.format then f.finding->'fix_versions' else '[]' end)
      from findings f where f.package_id = p.id and f.action in ('block', 'review')
        and not coalesce((f.finding->>'accepted_by_decision')::boolean, false)) as fixes
    from packages p where p.status = 'pending_review' and ${about}
      and not exists (select from fix_versions x where x.package_id = p.id and x.changes = p.changes)
    order by p.id limit ${BATCH}`.execute(db)
  return rows
}

async function store(db: Db, unknown: readonly Unknown[], compareIn: (codename: string) => Compare): Promise<void> {
  const rows = unknown.map(({ id, changes, version, distribution, fixes }) => ({
    ...{ id, changes },
    version: fixingVersion(version, fixes ?? [], compareIn(distribution)),
  }))
  // Records that are deleted meanwhile are left out.
  await sql`
    with known as (select id from packages where id = any(${rows.map(({ id }) => id)}::bigint[]) order by id for key share)
    insert into fix_versions (package_id, changes, version)
    select r.id, r.changes, r.version
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r (id bigint, changes bigint, version text)
    join known on known.id = r.id order by r.id
    on conflict (package_id) do update set changes = excluded.changes, version = excluded.version`.execute(db)
}

/**
 * The lowest version that fixes everything.
 * @param fixes the fixed versions of each finding: one for each branch of the source
 * @returns null without findings, and when one of them is fixed by no later version
 */
export function fixingVersion(version: string, fixes: readonly (readonly string[])[], compare: Compare): string | null {
  let needed: string | null = null
  for (const of of fixes) {
    const first = of.filter((one) => compare(one, version) > 0).sort(compare)[0]
    if (first === undefined) return null
    if (needed === null || compare(first, needed) > 0) needed = first
  }
  return needed
}
