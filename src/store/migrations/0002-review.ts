// Review: decisions, findings as rows, the review columns of a package, and the counters for totals of pages.
import { sql, type Kysely } from 'kysely'

const STATEMENTS = [
  `alter table packages
    add column review_origin text, add column review_since timestamptz, add column review_due_at timestamptz,
    add column overdue_noted_at timestamptz, add column review_reasons jsonb,
    add column severities smallint not null default 0, add column risk int not null default 0`,
  `create index packages_risk on packages (risk desc, id desc)`,
  `create index packages_listed on packages (risk desc, id desc) where severities <> 0 or status <> 'published'`,
  `create index packages_refused_risk on packages (status, risk desc, id desc) where status <> 'published'`,
  // One index for each bit, so that a page of packages with at least one such finding reads no others.
  ...[1, 2, 4, 8, 16, 32].map(
    (bit) => `create index packages_severity_${bit} on packages (risk desc, id desc) where severities & ${bit} <> 0`,
  ),
  `create index packages_review on packages (review_due_at, risk desc, id) where status = 'pending_review'`,

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
  `insert into package_counts (distribution, status, cve_status, scanned, severities, n)
    select distribution, status, coalesce(cve_status, ''), last_scan is not null, severities, count(*)
    from packages group by 1, 2, 3, 4, 5`,
  // Earlier releases had no findings, so held packages get the deadline of unscanned ones.
  `update packages set review_origin = import_method, review_since = imported_at, review_due_at = imported_at + interval '30 days'
    where status = 'pending_review'`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
