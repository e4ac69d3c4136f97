// npm search: names that clients can have, in a repository or in the members of a group.
import { sql } from 'kysely'
import type { PackageFacts } from '../../domain/package.ts'
import type { NpmRecord } from '../../formats/npm/read.ts'
import type { Db } from '../../store/db.ts'
import { containing } from '../../store/records/search-text.ts'

export interface SearchHit {
  name: string
  version: string
  facts: PackageFacts<NpmRecord>
  imported_at: Date
}

const MOST_WORDS = 10

/**
 * Of each name the version that arrived last. A name of a group is its first member's, published or held.
 * @param visible those of the places whose names are shown
 */
export async function searchNames(
  db: Db,
  { places, visible }: { places: readonly string[]; visible: readonly string[] },
  { text, size, from }: { text: string; size: number; from: number },
): Promise<{ hits: SearchHit[]; total: number }> {
  const words = text.split(/\s+/).filter(Boolean).slice(0, MOST_WORDS)
  const patterns = words.map(containing)
  const { rows } = await sql<SearchHit & { total: number }>`
    with known as (
      select distinct on (p.name) p.name, p.distribution from packages p
        join unnest(${places}::text[]) with ordinality as place (key, position) on place.key = p.distribution
        order by p.name, place.position
    ), newest as (
      select distinct on (p.name) p.name, p.version, p.imported_at, p.sha256 from known
        join packages p on p.name = known.name and p.distribution = known.distribution
        where known.distribution = any(${visible}::text[])
          and exists (select from offers o where o.package_id = p.id and o.until_revision is null)
        order by p.name, p.imported_at desc, p.id desc
    )
    select n.name, n.version, n.imported_at, b.facts, count(*) over ()::int as total
      from newest n join blobs b using (sha256)
      where lower(n.name || ' ' || coalesce(b.facts->>'description', '')) like all (${patterns}::text[])
      order by n.name limit ${size} offset ${from}`.execute(db)
  return { hits: rows, total: rows[0]?.total ?? 0 }
}
