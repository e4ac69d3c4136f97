// Repositories of libraries. A hosted one has a row among the distributions too, so that records, decisions and counts work as they
// do there; that row is never initialized, because no index of it is published.
//
// The unit of publication is a name. Whatever changes what a name shows raises its revision in the same transaction: triggers do, so
// that no writer can forget it.
import { statements } from './run.ts'

const raised = (place: string, name: string) =>
  `insert into listings (repository, name, revision) values (${place}, ${name}, 1)
    on conflict (repository, name) do update set revision = listings.revision + 1`

const raising = (table: string, events: string, row: 'new' | 'old', column: string, when: string) => [
  `create function ${table}_raise_listing_${row}() returns trigger language plpgsql as $$ begin
    ${raised(`${row}.${column}`, `${row}.name`)};
    return null;
  end $$`,
  `create trigger ${table}_raise_listing_${row} after ${events} on ${table} for each row
    when (${when}) execute function ${table}_raise_listing_${row}()`,
]

export const repositories = statements([
  `create table repositories (
    key text primary key, format text not null, name text not null, kind text not null, description text not null,
    is_public boolean not null default false, created_at timestamptz not null, created_by text not null)`,
  `create table repository_members (
    repository text not null references repositories on delete cascade, position int not null,
    member text not null references repositories, primary key (repository, position), unique (repository, member))`,
  `create index repository_members_member on repository_members (member)`,
  `create table listings (
    repository text not null references repositories on delete cascade, name text not null,
    revision bigint not null, published_revision bigint not null default 0, primary key (repository, name))`,
  `create index listings_behind on listings (repository, name) where published_revision < revision`,
  `create table tags (
    repository text not null references repositories on delete cascade, name text not null, tag text not null,
    version text not null, changed_at timestamptz not null, changed_by text not null, primary key (repository, name, tag))`,
  `create table version_notes (
    repository text not null references repositories on delete cascade, name text not null, version text not null,
    note jsonb not null, primary key (repository, name, version))`,
  // A version that was deleted never comes back with other bytes: lockfiles and caches know the old ones.
  `create table spent_versions (
    repository text not null references repositories on delete cascade, name text not null, version text not null,
    arch text not null, sha256 text not null, deleted_at timestamptz not null, primary key (repository, name, version, arch))`,
  `create function spend_version() returns trigger language plpgsql as $$ begin
    insert into spent_versions (repository, name, version, arch, sha256, deleted_at)
      select old.distribution, old.name, old.version, old.arch, old.sha256, now()
      where exists (select from repositories where key = old.distribution)
      on conflict (repository, name, version, arch) do nothing;
    return null;
  end $$`,
  `create trigger packages_spend_version after delete on packages for each row
    when (old.distribution like '%/%' and old.status in ('published', 'pending_review')) execute function spend_version()`,
  ...raising(
    'packages',
    'insert or update of status, held_reason, sha256',
    'new',
    'distribution',
    `new.distribution like '%/%'`,
  ),
  ...raising('packages', 'delete', 'old', 'distribution', `old.distribution like '%/%'`),
  ...raising('offers', 'insert or update of until_revision', 'new', 'distribution', `new.distribution like '%/%'`),
  ...raising('tags', 'insert or update', 'new', 'repository', 'true'),
  ...raising('tags', 'delete', 'old', 'repository', 'true'),
  ...raising('version_notes', 'insert or update', 'new', 'repository', 'true'),
  ...raising('version_notes', 'delete', 'old', 'repository', 'true'),
])
