// The last audit entry that each notification channel delivered, and the number of attempts for the next one.
import { sql, type Kysely } from 'kysely'

const STATEMENTS = [
  `create table notify_cursor (id int primary key, seq bigint not null, tries int not null default 0, retry_at timestamptz)`,
  `create index audit_seq on audit (seq) where seq is not null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
