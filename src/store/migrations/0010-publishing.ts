// Pending deletions claimed by rows instead of locks, superseded generations, and clearer names.
import { sql, type Kysely } from 'kysely'

const STATEMENTS = [
  `alter table debris rename to pending_deletions`,
  `alter table pending_deletions add column attempts int not null default 0, add column due_at timestamptz not null default now()`,
  `update pending_deletions set kind = 'file' where kind in ('blob', 'place')`,
  `create index pending_deletions_due on pending_deletions (due_at, id)`,
  `alter table blobs add column removal_token text, add column removal_began_at timestamptz, add column removal_ended_at timestamptz`,
  `create index blobs_removal_ended on blobs (removal_ended_at) where removal_ended_at is not null`,
  `alter table distributions rename column extras to background_indexes`,
  `alter table distributions add column cleaning_token text, add column cleaning_since timestamptz, add column cleanings bigint not null default 0`,
  `create table superseded_generations (distribution text not null references distributions on delete cascade, generation text not null,
    superseded_at timestamptz not null, primary key (distribution, generation))`,
  `create index superseded_generations_at on superseded_generations (superseded_at)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
