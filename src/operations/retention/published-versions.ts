// The rows of a distribution that the retention of old versions reads, and whether the distribution has changed since.
import { sql } from 'kysely'
import type { Db } from '../../store/db.ts'
import { revisionOf } from '../../store/records/served-query.ts'
import type { PublishedVersion } from './surplus-versions.ts'

/** Published versions that are read and compared at a time; more only if one package has more. */
const PAGE = 1000

/** All published versions of the packages that have more than `keep`, in the order of names; some packages at a time. */
export async function* manyVersions(db: Db, codename: string, keep: number): AsyncGenerator<string[]> {
  for (let after = ''; ;) {
    // Architectures are separated later: a package with more versions in total may have few of each.
    const { rows: names } = await sql<{ name: string; n: number }>`
      select name, count(*)::int as n from offers
      where distribution = ${codename} and until_revision is null and name > ${after}
      group by name having count(*) > ${keep} order by name limit 200`.execute(db)
    if (names.length === 0) return
    let total = 0
    const some = names.filter(({ n }, index) => (total += n) <= PAGE || index === 0).map(({ name }) => name)
    after = some.at(-1)!
    yield some
  }
}

/** @returns also the revision of the distribution before they were read */
export async function versionsOf(db: Db, codename: string, names: readonly string[]) {
  const revision = await revisionOf(db, codename)
  const { rows: versions } = await sql<PublishedVersion>`
    select p.id, o.name, o.version, o.arch, p.imported_at as "importedAt"
    from offers o join packages p on p.id = o.package_id
    where o.distribution = ${codename} and o.until_revision is null and o.name = any(${names}::text[])
      and p.status = 'published' order by p.id`.execute(db)
  return { revision, versions }
}

/** Whether the distribution offers something new since a revision, or stopped offering anything besides these records. */
export async function hasChanged(tx: Db, codename: string, since: number, gone: readonly number[]): Promise<boolean> {
  const { rows } = await sql<{ changed: boolean }>`select
    exists (select from offers where distribution = ${codename} and from_revision > ${since}) or
    exists (select from offers where distribution = ${codename} and until_revision > ${since}
      and not package_id = any(${gone}::bigint[])) as changed`.execute(tx)
  return rows[0]?.changed !== false
}
