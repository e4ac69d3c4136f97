// What checks saw of a record, apart from what was decided: rows that stay, the newest of each kind in force. Findings are kept once for
// all that found the same. Records of builds before this one have none until they are checked again.
import { statements } from './run.ts'

export const evidence = statements([
  `create table finding_sets (digest text primary key, findings jsonb not null, used_at timestamptz not null)`,
  `create table evidence (
    id bigint generated always as identity primary key, package_id bigint not null references packages on delete cascade,
    kind text not null, engine text, data_version text, generation bigint, at timestamptz not null, last_at timestamptz not null,
    replaced_at timestamptz, behind boolean not null default false, digest text not null, body jsonb not null,
    findings text references finding_sets)`,
  `create index evidence_package on evidence (package_id, kind)`,
  `create index evidence_replaced on evidence (replaced_at, id) where replaced_at is not null`,
  `create index evidence_behind on evidence (package_id) where behind and replaced_at is null`,
  `create index evidence_findings on evidence (findings) where findings is not null`,
])
