// The packages with the most advisories, computed by each import. Drops indexes that no query uses.
import { sql, type Kysely } from 'kysely'

const STATEMENTS = [
  `alter table advisory_state add column vulnerable jsonb not null default '{}'`,
  // No query orders records by import time: lists of packages use `artifacts_recent`.
  `drop index packages_recent`,
  // The unique constraint on `seq` already has an index.
  `drop index audit_seq`,
  // Received digests are looked up only among rejected records.
  `drop index packages_received`,
  `create index packages_received on packages (received_sha256) where status = 'rejected'`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
