// The other ids of findings (DSA, ALSA, RHSA, GHSA), by which people ask for them. Rows of before get theirs by a match of all
// packages: `rematched_names` is the generation of advisories that a build which stores names has matched.
import { statements } from './run.ts'

export const findingNames = statements([
  // In upper case, because people type them in any.
  `create table finding_names (
    package_id bigint not null, cve text not null, name text not null,
    primary key (package_id, cve, name),
    foreign key (package_id, cve) references findings on delete cascade)`,
  `create index finding_names_prefix on finding_names (name text_pattern_ops)`,
  `alter table advisory_state add column rematched_names bigint not null default 0`,
  `insert into tasks (kind, state, created_at, created_by)
    select 'rematch', 'queued', now(), 'system' where exists (select from findings)`,
])
