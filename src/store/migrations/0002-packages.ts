// Distributions, stored files, records, and what people have to do with them or decided.
import { statements } from './run.ts'

export const packages = statements([
  `create table distributions (
    codename text primary key, format text not null, definition jsonb not null, initialized_at timestamptz,
    revision bigint not null default 0, history_floor bigint not null default 0,
    published_revision bigint not null default 0, generation text, release_date bigint not null default 0, published_at timestamptz,
    background_indexes jsonb not null default '[]',
    cleaning_token text, cleaning_since timestamptz, cleanings bigint not null default 0,
    published_count bigint not null default 0, pending_count bigint not null default 0,
    quarantined_count bigint not null default 0, rejected_count bigint not null default 0, size_bytes bigint not null default 0)`,

  // What a file is and states about itself, once, however many distributions have it.
  `create table blobs (
    sha256 text primary key, format text not null, filename text not null, size_bytes bigint not null,
    sha512 text not null, sha1 text not null, md5 text not null, facts jsonb not null, files bytea not null,
    installed_size_kb bigint, section text, description text, maintainer text, license text, url text,
    source_package text, source_version text, dependencies jsonb not null default '[]', created_at timestamptz not null,
    verified_at timestamptz not null default now(),
    removal_token text, removal_began_at timestamptz, removal_ended_at timestamptz)`,
  `create index blobs_verified on blobs (verified_at, sha256)`,
  `create index blobs_source on blobs (source_package)`,
  `create index blobs_removing on blobs (sha256) where removal_token is not null and removal_ended_at is null`,
  `create index blobs_removal_ended on blobs (removal_ended_at) where removal_ended_at is not null`,

  // A record: one file in one place, and what the gate found out about it there. A place is a distribution.
  `create table packages (
    id bigint generated always as identity primary key,
    distribution text not null references distributions, format text not null,
    name text not null, version text not null, arch text not null,
    sha256 text not null references blobs, received_sha256 text not null,
    status text not null, cve_status text, held_reason text,
    imported_at timestamptz not null, imported_by text not null, import_method text not null,
    import_group text, source_id bigint, promoted_from text,
    pipeline jsonb not null, validation_steps jsonb not null, coverage jsonb not null, deps_missing jsonb not null, tags jsonb not null,
    cve_summary jsonb, cve_results jsonb, last_scan timestamptz,
    severities smallint not null default 0, risk int not null default 0, review_due_at timestamptz,
    changes int not null default 1, manifest_changes int not null default 0,
    unique (distribution, name, version, arch))`,
  `create index packages_name on packages (name, format)`,
  `create index packages_sha256 on packages (sha256)`,
  `create index packages_group on packages (import_group, id) where import_group is not null`,
  // Received digests are looked up only among rejected records.
  `create index packages_received on packages (received_sha256) where status = 'rejected'`,
  `create index packages_status on packages (status, distribution) where status <> 'published'`,
  `create index packages_manifest on packages (id) where manifest_changes < changes`,
  `create index packages_risk on packages (risk desc, id desc)`,
  `create index packages_listed on packages (risk desc, id desc) where severities <> 0 or status <> 'published'`,
  `create index packages_refused_risk on packages (status, risk desc, id desc) where status <> 'published'`,
  // One index for each bit, so that a page of packages with at least one such finding reads no others.
  ...[1, 2, 4, 8, 16, 32].map(
    (bit) => `create index packages_severity_${bit} on packages (risk desc, id desc) where severities & ${bit} <> 0`,
  ),
  `create index packages_review on packages (review_due_at, risk desc, id) where status = 'pending_review'`,

  // Only records that people have or had to do with have a row.
  `create table reviews (
    package_id bigint primary key references packages on delete cascade,
    review_origin text, review_since timestamptz, overdue_noted_at timestamptz, review_reasons jsonb,
    quarantined_at timestamptz, quarantined_by text)`,
  `create table decisions (
    id bigint generated always as identity primary key,
    package_id bigint references packages on delete set null,
    package text not null, version text not null, arch text not null, distribution text not null, format text not null,
    sha256 text not null, decision text, action text not null, status text not null, previous_status text not null,
    justification text not null, decided_by text not null, decided_at timestamptz not null,
    expires_in_days int, expires_at timestamptz, target_version text,
    covers jsonb not null, policy_snapshot jsonb not null, active boolean not null,
    assigned_to text, assigned_at timestamptz, resolved_at timestamptz, resolved_by text, resolution_note text)`,
  `create index decisions_package on decisions (package_id) where active`,
  `create index decisions_name on decisions (package, version)`,
  `create index decisions_expiry on decisions (expires_at) where active and expires_at is not null`,
  `create index decisions_assigned on decisions (assigned_to, id)`,

  `create table findings (
    package_id bigint not null references packages on delete cascade,
    cve text not null, distribution text not null, severity text not null, fix_state text not null, action text not null,
    in_kev boolean not null, epss float8, first_seen timestamptz not null, risk int not null, finding jsonb not null,
    primary key (package_id, cve))`,
  `create index findings_risk on findings (risk desc, cve, package_id)`,
  `create index findings_distribution on findings (distribution, risk desc, cve, package_id)`,
  `create index findings_fix on findings (fix_state, risk desc, cve, package_id)`,
  `create index findings_cve on findings (cve)`,
  `create table finding_counts (
    distribution text not null, status text not null, severity text not null, fix_state text not null, n bigint not null,
    primary key (distribution, status, severity, fix_state))`,
  `create table package_counts (
    distribution text not null, status text not null, cve_status text not null, scanned boolean not null,
    severities smallint not null, n bigint not null,
    primary key (distribution, status, cve_status, scanned, severities))`,

  `create table artifacts (
    format text not null, name text not null, latest_id bigint not null, search text not null,
    latest_imported_at timestamptz not null,
    distributions text[] not null, statuses text[] not null, archs text[] not null,
    primary key (name, format))`,
  // Serves both directions of the time order.
  `create index artifacts_recent on artifacts (latest_imported_at, name, format)`,
  `create index artifacts_statuses on artifacts using gin (statuses)`,
  // Without trigrams a search reads every row: 70 ms instead of 5 for 100,000 rows. The embedded database has none, and
  // some servers allow no extensions. Results are the same.
  `do $$ begin
    create extension if not exists pg_trgm;
    create index artifacts_search on artifacts using gin (search gin_trgm_ops);
  exception when others then raise notice 'searches read all rows: %', sqlerrm; end $$`,
])
