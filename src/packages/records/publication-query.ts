// Pages of the publications of a distribution, with the number of packages that each added and removed.
import { sql } from 'kysely'
import type { Db } from '../../store/db.ts'
import { offset, type At } from './review-query.ts'

export interface PublicationRow {
  revision: number
  generation: string
  published_at: Date
  causes: string[]
  live: boolean
  /** at most `MOST_CHANGES`; null for the oldest kept publication */
  added: number | null
  removed: number | null
}

/** A burst makes one publication each second, and a month of them is kept. */
const MOST_COUNTED = 10_000
const MOST_CHANGES = 1_000

export async function publicationPage(
  db: Db,
  codename: string,
  at: At,
): Promise<{ rows: PublicationRow[]; total: number; capped: boolean }> {
  const { rows } = await sql<PublicationRow>`
    select p.revision, p.generation, p.published_at, p.causes, p.generation = d.generation as live,
      case when p.before is not null then (select count(*)::int from (select from offers o where o.distribution = ${codename}
        and o.from_revision > p.before and o.from_revision <= p.revision
        and (o.until_revision is null or o.until_revision > p.revision) limit ${MOST_CHANGES}) entered) end as added,
      case when p.before is not null then (select count(*)::int from (select from offers o where o.distribution = ${codename}
        and o.until_revision > p.before and o.until_revision <= p.revision and o.from_revision <= p.before
        limit ${MOST_CHANGES}) gone) end as removed
    from (
      select *, lead(revision) over (order by published_at desc, revision desc) as before from (
        select * from publications where distribution = ${codename}
        order by published_at desc, revision desc limit ${at.perPage + 1} offset ${offset(at)}) kept
      limit ${at.perPage}
    ) p join distributions d on d.codename = ${codename}
    order by p.published_at desc, p.revision desc`.execute(db)
  const counted = await sql<{ n: number }>`select count(*)::int as n from
    (select from publications where distribution = ${codename} limit ${MOST_COUNTED}) found`.execute(db)
  const total = counted.rows[0]?.n ?? 0
  return { rows, total, capped: total === MOST_COUNTED }
}
