// What is known of vulnerabilities: advisories, exploit-prediction scores, the list of known-exploited ones.
import { statements } from './run.ts'

export const advisories = statements([
  `create table advisory_state (
    id int primary key, generation bigint not null, ecosystems jsonb not null, vulnerable jsonb not null default '{}',
    changes_floor bigint not null, writer text, building bigint, heartbeat_at timestamptz, rematched bigint not null default 0)`,
  `insert into advisory_state (id, generation, ecosystems, changes_floor) values (1, 0, '{}', 0)`,
  `create table advisory_feeds (
    name text primary key, digest text, advisories bigint not null default 0, generation bigint,
    imported_at timestamptz, checked_at timestamptz, error text)`,
  `create table advisories (
    key bigint generated always as identity primary key, feed text not null, id text not null, digest text not null, source text not null,
    since bigint not null, until bigint, modified timestamptz not null, withdrawn timestamptz,
    severity text not null, cvss float8, summary text, cves jsonb not null, aliases jsonb not null, urls jsonb not null,
    notes jsonb not null, security boolean not null)`,
  `create index advisories_live on advisories (feed, id) where until is null`,
  `create index advisories_since on advisories (since)`,
  `create index advisories_until on advisories (until) where until is not null`,
  `create table advisory_packages (
    advisory bigint not null, ecosystem text not null, package text not null, ranges jsonb not null, versions jsonb not null,
    severity text, cvss float8, wont_fix boolean not null, stream text)`,
  `create index advisory_packages_name on advisory_packages (package, ecosystem)`,
  `create index advisory_packages_advisory on advisory_packages (advisory)`,
  `create table advisory_changes (
    generation bigint not null, ecosystem text not null, package text not null, primary key (generation, ecosystem, package))`,
  `create table epss (cve text primary key, score float8 not null, percentile float8 not null)`,
  `create table kev (cve text primary key, vendor text, product text, date_added text, due_date text, description text)`,
  `create table score_feeds (
    name text primary key, digest text, entries bigint not null default 0, checked_at timestamptz, imported_at timestamptz, error text)`,
])
