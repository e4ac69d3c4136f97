// Upstream repositories, and the packages that they offer.
import { statements } from './run.ts'

const CATALOG_COLUMNS = `source_id bigint not null references sources on delete cascade, path text not null, fingerprint text not null,
    name text not null, version text not null, arch text not null, size_bytes bigint not null,
    digest_algorithm text not null, digest text not null, section text, description text, source_package text, source_version text,
    requirements jsonb not null, provides jsonb not null`

export const imports = statements([
  `create table sources (
    id bigint generated always as identity primary key, key text unique, name text not null unique,
    type text not null, url text not null, mirrors text, distribution text, components text[] not null, architectures text[] not null,
    target text, enabled boolean not null, security boolean not null, keys jsonb not null, allow_unsigned boolean not null,
    status text not null default 'never', last_sync timestamptz, pkg_count bigint not null default 0, error text,
    signed_by text[] not null default '{}', seen jsonb, created_at timestamptz not null, created_by text not null, changed_at timestamptz)`,
  `create unique index sources_address on sources (url, coalesce(distribution, ''))`,
  `create table catalog (${CATALOG_COLUMNS}, synced_at timestamptz not null, primary key (source_id, path))`,
  `create index catalog_name on catalog (name, source_id)`,
  `create index catalog_provides on catalog using gin (provides jsonb_path_ops)`,
  // The names of each source once, for searches by a part: these short rows are scanned in 20 ms where the catalog takes 300.
  `create table catalog_names (source_id bigint not null references sources on delete cascade, folded text collate "C" not null,
    name text collate "C" not null, packages integer not null, primary key (folded, name, source_id))`,
  // Keys of sources that signed packages which were taken in. They stay when the source is deleted: the packages do.
  `create table package_keys (fingerprint text primary key, armored text not null, added_at timestamptz not null)`,
  // Who may bring a name. Without a foreign key: when its source is deleted, a name stays reserved until people decide.
  `create table reservations (id bigint generated always as identity primary key, pattern text not null, format text, source_id bigint,
    created_at timestamptz not null, created_by text not null)`,
  `create unique index reservations_once on reservations (lower(pattern), coalesce(format, ''), coalesce(source_id, 0))`,
  // Runs of records of the source's indexes, with the fingerprints of their packages: a sync reads only those it has not seen.
  `create table catalog_runs (source_id bigint not null references sources on delete cascade, digest text not null,
    fingerprints text[] not null, primary key (source_id, digest))`,
  // What a sync brings, until all of it was verified. Not logged: a sync that is interrupted begins again.
  `create unlogged table catalog_incoming (${CATALOG_COLUMNS}, primary key (source_id, path))`,
  `create unlogged table catalog_incoming_runs (source_id bigint not null references sources on delete cascade, digest text not null,
    fingerprints text[], primary key (source_id, digest))`,
  // The packages of a bulk import, and what became of them.
  `create table import_requests (
    task_id bigint not null references tasks (id) on delete cascade, n int not null, source_id bigint not null,
    package text not null, version text, arch text, status text, code text, detail text, primary key (task_id, n))`,
  `create table security_updates (
    source_id bigint not null references sources on delete cascade, package_id bigint not null references packages on delete cascade,
    path text not null, found_at timestamptz not null, primary key (source_id, package_id))`,
  `create index security_updates_package on security_updates (package_id)`,
  // What is mirrored of a source, and where the next run continues.
  `create table mirrors (
    source_id bigint primary key references sources on delete cascade, distribution text not null, enabled boolean not null,
    selection jsonb not null, continue_after text, updated_at timestamptz not null, updated_by text not null)`,
])
