// Distributions keep what was declared of them: one that is no longer declared is still served and shown.
import { sql, type Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table distributions add column definition jsonb`.execute(db)
}
