// The tables of the first release: accounts, packages, distributions, audit.
import { sql, type Kysely } from 'kysely'

const STATEMENTS = [
  `create table users (
    id bigint generated always as identity primary key,
    username text not null, username_key text not null unique, password_hash text,
    role text not null, full_name text not null default '', email text not null default '',
    active boolean not null default true, auth_source text not null default 'local',
    mfa_enabled boolean not null default false, mfa_secret text,
    created_at timestamptz not null, last_login timestamptz)`,
  `create table sessions (
    jti text primary key, user_id bigint not null references users on delete cascade,
    started_at timestamptz not null, expires_at timestamptz not null)`,
  `create index sessions_user on sessions (user_id)`,
  `create index sessions_expiry on sessions (expires_at)`,
  `create table api_tokens (
    id text primary key, name text not null, role text not null, token_hash text not null unique, token_hint text not null,
    created_by text not null, created_by_id bigint references users on delete set null,
    created_at timestamptz not null, last_used timestamptz, expires_at timestamptz, revoked_at timestamptz)`,
  `create table password_resets (
    user_id bigint primary key references users on delete cascade, token_hash text not null unique, expires_at timestamptz not null)`,
  `create table distributions (
    codename text primary key, format text not null,
    revision bigint not null default 0, published_revision bigint not null default 0,
    generation text, release_date bigint not null default 0, published_at timestamptz,
    removals_floor bigint not null default 0, extras jsonb not null default '[]', initialized_at timestamptz,
    published_count bigint not null default 0, pending_count bigint not null default 0,
    quarantined_count bigint not null default 0, rejected_count bigint not null default 0, size_bytes bigint not null default 0)`,
  `create table blobs (
    sha256 text primary key, format text not null, filename text not null, size_bytes bigint not null,
    sha512 text not null, sha1 text not null, md5 text not null, facts jsonb not null, files bytea not null,
    created_at timestamptz not null)`,
  `create table packages (
    id bigint generated always as identity primary key,
    distribution text not null references distributions, format text not null,
    name text not null, version text not null, arch text not null,
    status text not null, cve_status text, held_reason text, served boolean not null,
    sha256 text not null references blobs, received_sha256 text not null, filename text not null,
    size_bytes bigint not null, installed_size_kb bigint,
    section text, description text, maintainer text, license text, url text, source_package text, source_version text,
    imported_at timestamptz not null, imported_by text not null, import_method text not null,
    import_group text, source_id bigint, promoted_from text,
    pipeline jsonb not null, validation_steps jsonb not null, coverage jsonb not null,
    dependencies jsonb not null, deps_missing jsonb not null, tags jsonb not null,
    cve_summary jsonb, cve_results jsonb, last_scan timestamptz,
    quarantined_at timestamptz, quarantined_by text,
    changed_revision bigint not null, position bigint, manifest_pending boolean not null,
    unique (distribution, name, version, arch))`,
  `create index packages_changes on packages (distribution, changed_revision)`,
  `create index packages_order on packages (distribution, position, id) where served`,
  `create index packages_name on packages (name, format)`,
  `create index packages_sha256 on packages (sha256)`,
  `create index packages_received on packages (received_sha256)`,
  `create index packages_status on packages (status, distribution) where status <> 'published'`,
  `create index packages_recent on packages (imported_at)`,
  `create index packages_manifest on packages (id) where manifest_pending`,
  `create table entries (
    package_id bigint not null references packages on delete cascade, stream text not null, bytes bytea not null,
    primary key (package_id, stream))`,
  `alter table entries alter column bytes set storage external`,
  `create table capabilities (
    package_id bigint not null references packages on delete cascade,
    distribution text not null, name text not null, version text)`,
  `create index capabilities_name on capabilities (distribution, name)`,
  `create index capabilities_package on capabilities (package_id)`,
  `create table removals (
    id bigint generated always as identity primary key,
    distribution text not null, package_id bigint not null, position bigint not null, revision bigint not null,
    name text not null, tree_path text not null, removed_at timestamptz not null)`,
  `create index removals_revision on removals (distribution, revision)`,
  `create table debris (id bigint generated always as identity primary key, kind text not null, key text not null)`,
  `create table artifacts (
    format text not null, name text not null, latest_id bigint not null, search text not null,
    latest_imported_at timestamptz not null,
    distributions text[] not null, statuses text[] not null, archs text[] not null,
    primary key (name, format))`,
  `create index artifacts_recent on artifacts (latest_imported_at desc, name)`,
  `create table audit (
    id bigint generated always as identity primary key, at timestamptz not null,
    action text not null, result text not null, username text, package text, version text, distribution text,
    arch text, detail text, outcome text, ip text, request_id text, extra jsonb not null,
    seq bigint unique, prev_hash text, hash text, day text, filed boolean not null default false)`,
  `create index audit_at on audit (at desc, id desc)`,
  `create index audit_action on audit (action, id desc)`,
  `create index audit_package on audit (package, id desc)`,
  `create index audit_user on audit (username, id desc)`,
  `create index audit_unfiled on audit (id) where not filed`,
  `create table audit_chain (id int primary key, seq bigint not null, hash text not null, day text not null)`,
  `create table leases (name text primary key, holder text not null, expires_at timestamptz not null)`,
  `create table instances (id text primary key, host text not null, pid bigint not null, heartbeat_at timestamptz not null)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
