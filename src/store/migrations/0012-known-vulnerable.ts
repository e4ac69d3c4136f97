// Packages that most advisories are about, computed by each import; indexes that no query uses are dropped.
import { sql, type Kysely } from 'kysely'

const STATEMENTS = [
  `alter table advisory_state add column vulnerable jsonb not null default '{}'`,
  // Nothing orders records by their import: lists of packages are ordered by `artifacts_recent`.
  `drop index packages_recent`,
  // The unique constraint on `seq` has an index already.
  `drop index audit_seq`,
  // Received digests are looked up among rejected records only.
  `drop index packages_received`,
  `create index packages_received on packages (received_sha256) where status = 'rejected'`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
