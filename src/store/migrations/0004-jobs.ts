// The last runs of scheduled jobs, and the generation of advisories that packages were last matched against.
import { sql, type Kysely } from 'kysely'

const STATEMENTS = [
  `create table job_ticks (
    job text not null, due_at timestamptz not null, started_at timestamptz not null, finished_at timestamptz, error text,
    primary key (job, due_at))`,
  `alter table advisory_state add column rematched bigint not null default 0`,
  `create index packages_source on packages (distribution, source_package)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
