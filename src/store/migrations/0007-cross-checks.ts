// The published packages that the second scanners have scanned. A package without a row is pending.
import { sql, type Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table cross_checks (
    package_id bigint not null references packages on delete cascade,
    engine text not null, word text not null, checked_at timestamptz not null,
    primary key (package_id, engine))`.execute(db)
}
