// The names that a repository shows.
import { sql } from 'kysely'
import type { Db } from '../store/db.ts'

/** Names of one query. */
const PAGE = 5000

/** The names with a file that documents may show, and those that a proxy has asked its upstream for, in order. */
export async function shownNames(db: Db, repositories: readonly string[]): Promise<string[]> {
  const names: string[] = []
  for (let after = ''; ;) {
    const { rows } = await sql<{ name: string }>`
      (select distinct name from packages
        where distribution = any(${repositories}::text[]) and status in ('published', 'pending_review') and name > ${after}
        order by name limit ${PAGE})
      union
      (select name from upstream_listings
        where repository = any(${repositories}::text[]) and packed is not null and name > ${after}
        order by name limit ${PAGE})
      order by name limit ${PAGE}`.execute(db)
    names.push(...rows.map(({ name }) => name))
    if (rows.length < PAGE) return names
    after = names.at(-1)!
  }
}
