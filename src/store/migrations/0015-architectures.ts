// What a package provides says for which architecture, since a distribution may have several.
import { sql, type Kysely } from 'kysely'

const STATEMENTS = [
  `alter table capabilities add column arch text, add column multi_arch text`,
  `update capabilities set arch = packages.arch from packages where packages.id = package_id`,
  `alter table capabilities alter column arch set not null`,
  // Kept for one distribution, with one architecture, until now.
  `update distributions set definition = definition - 'arch' || jsonb_build_object('architectures', jsonb_build_array(definition->'arch'))
    where definition ? 'arch'`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
