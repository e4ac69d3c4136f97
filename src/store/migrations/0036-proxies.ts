// Repositories that give what an upstream has: where it is, what it lists, and what the rules of the repository hold back.
import { statements } from './run.ts'

export const proxies = statements([
  `alter table repositories add column upstream_url text, add column upstream_authorization text,
    add column curation jsonb`,
  // When a rule of time ends, the name is published again by the next request for it.
  `alter table listings add column next_change_at timestamptz`,
  // One row a name, not one a version: a name has up to 20,000. "packed" is null for a name that the upstream does not have.
  `create table upstream_listings (
    repository text not null references repositories on delete cascade, name text not null, packed bytea,
    digest text not null, etag text, versions jsonb not null, findings jsonb not null,
    fetched_at timestamptz not null, primary key (repository, name))`,
  // Work that one replica does for all: a listing or a file is asked for once.
  `create table upstream_fetches (key text primary key, holder text not null, until timestamptz not null)`,
  `create table withheld (
    repository text not null references repositories on delete cascade, name text not null, version text not null,
    reasons jsonb not null, until timestamptz, asked int not null, asked_by text not null, asked_at timestamptz not null,
    primary key (repository, name, version))`,
  `create index withheld_asked on withheld (repository, asked_at desc)`,
  `create table name_claims (
    format text not null, pattern text not null, repository text not null references repositories on delete cascade,
    created_at timestamptz not null, created_by text not null, primary key (format, pattern))`,
  `create function upstream_listings_raise_listing() returns trigger language plpgsql as $$ begin
    insert into listings (repository, name, revision) values (new.repository, new.name, 1)
      on conflict (repository, name) do update set revision = listings.revision + 1;
    return null;
  end $$`,
  `create trigger upstream_listings_raise_listing after insert or update of packed, findings on upstream_listings for each row
    execute function upstream_listings_raise_listing()`,
  `create function repositories_raise_listings() returns trigger language plpgsql as $$ begin
    update listings set revision = revision + 1 where repository = new.key;
    return null;
  end $$`,
  `create trigger repositories_raise_listings after update of curation on repositories for each row
    when (old.curation is distinct from new.curation) execute function repositories_raise_listings()`,
])
