// Pages of /artifacts: both directions of the time order by one index, and substrings by trigrams where there are any.
import { sql, type Kysely } from 'kysely'

const STATEMENTS = [
  `drop index artifacts_recent`,
  `create index artifacts_recent on artifacts (latest_imported_at, name, format)`,
  `create index artifacts_statuses on artifacts using gin (statuses)`,
  // A search reads every row without it: 70 ms of 100,000 instead of 5. The embedded database has no trigrams, and some
  // servers allow no extensions; both stay correct.
  `do $$ begin
    create extension if not exists pg_trgm;
    create index artifacts_search on artifacts using gin (search gin_trgm_ops);
  exception when others then raise notice 'searches read all rows: %', sqlerrm; end $$`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
