// Adds a MAC to audit entries. Entries chained before this migration have none.
import { sql, type Kysely } from 'kysely'

const STATEMENTS = [
  `alter table audit add column mac text`,
  `alter table audit_chain add column unkeyed bigint not null default 0`,
  `alter table audit_chain add column checkpoint text`,
  `update audit_chain set unkeyed = seq`,
  `create index audit_day on audit (day, seq)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
