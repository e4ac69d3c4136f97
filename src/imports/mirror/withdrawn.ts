// Packages that a mirror imported and that its source no longer offers.
import { sql } from 'kysely'
import type { Db } from '../../store/db.ts'
import type { PackageRow } from '../../store/tables.ts'
import type { Mirror } from './mirrors.ts'

/** Rows read in one query. */
const PAGE = 200

export type Withdrawn = Pick<PackageRow, 'id' | 'name' | 'version' | 'arch' | 'status'>

const condition = ({ source, target }: Mirror) => sql<boolean>`not exists (
  select from catalog c where c.source_id = ${source.id} and c.name = p.name and c.version = p.version
    and (c.arch = p.arch or p.arch = any(${[...target.format.neutralArchs]}::text[])))`

/** How many packages the mirror imported, and how many of them the source no longer offers. */
export async function countWithdrawn(db: Db, mirror: Mirror): Promise<{ brought: number; gone: number }> {
  const { rows } = await sql<{ brought: number; gone: number }>`
    select count(*)::int as brought, (count(*) filter (where ${condition(mirror)}))::int as gone from packages p
    where p.distribution = ${mirror.target.distribution.codename} and p.source_id = ${mirror.source.id}
      and p.import_method = 'mirror'`.execute(db)
  return rows[0] ?? { brought: 0, gone: 0 }
}

/** Withdrawn packages in the order of names, some at a time. One that the selection no longer names is not withdrawn. */
export async function* withdrawn(db: Db, mirror: Mirror): AsyncGenerator<Withdrawn[], void> {
  const { source, target } = mirror
  const { codename } = target.distribution
  let after: Pick<Withdrawn, 'name' | 'version' | 'arch'> = { name: '', version: '', arch: '' }
  for (;;) {
    const { rows } = await sql<Withdrawn>`
      select p.id, p.name, p.version, p.arch, p.status from packages p
      where p.distribution = ${codename} and p.source_id = ${source.id} and p.import_method = 'mirror'
        and (p.name, p.version, p.arch) > (${after.name}, ${after.version}, ${after.arch})
        and ${condition(mirror)}
      order by p.name, p.version, p.arch limit ${PAGE}`.execute(db)
    const last = rows.at(-1)
    if (!last) return
    yield rows
    after = last
  }
}
