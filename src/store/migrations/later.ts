// A database that a newer build has migrated further than this one knows: after the way back from an upgrade, or while
// replicas are upgraded one after the other.
import { sql, type Kysely, type Migration } from 'kysely'
import type { Tables } from '../tables.ts'
import { NewerDatabase } from '../database-away.ts'

/**
 * Migrations only add, so an older build works on what a later one left (test/replicas/upgrade.test.ts). One that takes
 * something away says so by its name: older builds then refuse the database.
 */
const TAKES_AWAY = /-takes-away$/

/**
 * The later migrations that were run and that this build does not know, in order.
 * @param known all names of this build, in order
 * @throws NewerDatabase when this build cannot work on the database
 */
export async function laterMigrations(db: Kysely<Tables>, known: readonly string[]): Promise<string[]> {
  const { rows: tables } = await sql<{
    found: boolean
  }>`select to_regclass('kysely_migration') is not null as found`.execute(db)
  if (!tables[0]?.found) return []
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
  const names = new Set(known)
  const unknown = rows.map(({ name }) => name).filter((name) => !names.has(name))
  const [newest] = unknown.slice(-1)
  if (newest === undefined) return []
  const last = known.at(-1) as string
  const refused = unknown.find((name) => name < last || TAKES_AWAY.test(name))
  if (refused === undefined && rows.length === known.length + unknown.length) return unknown
  throw new NewerDatabase(
    `the database belongs to a newer build: it has the migration ${refused ?? newest}, which this build, whose last one is ${last}, cannot work with; install the newer build, or restore a backup of this one`,
  )
}

/** Takes the place of a migration that was run already: the migrator wants to know every name. */
export const ranAlready: Migration = {
  up: () => Promise.reject(new Error('this migration belongs to a newer build')),
}
