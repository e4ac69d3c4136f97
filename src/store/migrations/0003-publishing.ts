// What distributions offer and offered, their publications, and files to be removed.
import { statements } from './run.ts'

export const publishing = statements([
  // Rows are added, ended, and deleted when no kept publication names them. `package_id` may be of a deleted record.
  `create table offers (
    distribution text not null references distributions, package_id bigint not null,
    from_revision bigint not null, until_revision bigint,
    sha256 text not null references blobs, filename text not null, name text not null, version text not null, arch text not null,
    began_by text not null, ended_by text, ended_at timestamptz, unlink_at timestamptz, keeps_bytes boolean not null default true,
    primary key (package_id, from_revision))`,
  `create unique index offers_current on offers (package_id) where until_revision is null`,
  `create index offers_from on offers (distribution, from_revision)`,
  `create index offers_until on offers (distribution, until_revision) where until_revision is not null`,
  `create index offers_unlink on offers (unlink_at) where unlink_at is not null`,
  `create index offers_sha256 on offers (sha256)`,
  // The lists of what is served read each of their pages from an index: with 100,000 packages a page took 220 ms, now 4.
  `create index offers_filename on offers (filename) where until_revision is null`,
  `create index offers_name on offers (distribution, name, package_id) where until_revision is null`,
  `create table publications (
    distribution text not null references distributions, generation text not null,
    revision bigint not null, release_date bigint not null, published_at timestamptz not null, causes text[] not null,
    primary key (distribution, generation))`,
  `create index publications_at on publications (distribution, published_at)`,
  // The result of the last check.
  `create table installability (
    distribution text primary key references distributions on delete cascade, revision bigint not null,
    checked_at timestamptz not null, result jsonb not null)`,
  `create table superseded_generations (
    distribution text not null references distributions on delete cascade, generation text not null,
    superseded_at timestamptz not null, primary key (distribution, generation))`,
  `create index superseded_generations_at on superseded_generations (superseded_at)`,

  // Rendered and read from what is offered now.
  `create table entries (
    package_id bigint not null references packages on delete cascade, stream text not null, bytes bytea not null,
    primary key (package_id, stream))`,
  `alter table entries alter column bytes set storage external`,
  `create table capabilities (
    package_id bigint not null references packages on delete cascade,
    distribution text not null, name text not null, version text, arch text not null, multi_arch text)`,
  `create index capabilities_name on capabilities (distribution, name)`,
  `create index capabilities_package on capabilities (package_id)`,

  // What each package needs, by name, so that a change finds those that it may break.
  `create table dependents (
    package_id bigint not null references packages on delete cascade, distribution text not null, name text not null)`,
  `create index dependents_name on dependents (distribution, name, package_id)`,
  `create index dependents_package on dependents (package_id)`,

  `create table pending_deletions (
    id bigint generated always as identity primary key, kind text not null, key text not null,
    attempts int not null default 0, due_at timestamptz not null default now())`,
  `create index pending_deletions_due on pending_deletions (due_at, id)`,

  // A record as it is read: the stored file's facts, its place, and its review.
  `create view records as select p.*,
      b.filename, b.size_bytes, b.installed_size_kb, b.section, b.description, b.maintainer, b.license, b.url,
      b.source_package, b.source_version, b.dependencies,
      o.from_revision as offered_from, o.package_id is not null as served,
      r.review_origin, r.review_since, r.overdue_noted_at, r.review_reasons, r.quarantined_at, r.quarantined_by
    from packages p join blobs b on b.sha256 = p.sha256
    left join offers o on o.package_id = p.id and o.until_revision is null
    left join reviews r on r.package_id = p.id`,
])
