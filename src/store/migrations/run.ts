// Runs the statements of a migration one after the other.
import { sql, type Kysely, type Migration } from 'kysely'

/** A migration that only goes up: a release is never downgraded over its own database. */
export function statements(list: readonly string[]): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const statement of list) await sql.raw(statement).execute(db)
    },
  }
}
