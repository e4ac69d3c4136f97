// EPSS scores, the list of known-exploited vulnerabilities, and received webhook deliveries.
import { sql, type Kysely } from 'kysely'

const STATEMENTS = [
  `create table epss (cve text primary key, score float8 not null, percentile float8 not null)`,
  `create table kev (cve text primary key, vendor text, product text, date_added text, due_date text, description text)`,
  `create table score_feeds (name text primary key, digest text, entries bigint not null default 0, checked_at timestamptz, imported_at timestamptz, error text)`,
  `create table webhook_deliveries (id text primary key, received_at timestamptz not null)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
