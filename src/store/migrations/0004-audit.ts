// The audit log, its chain, and what was delivered of it.
import { statements } from './run.ts'

export const audit = statements([
  `create table audit (
    id bigint generated always as identity primary key, at timestamptz not null,
    action text not null, result text not null, username text, package text, version text, distribution text,
    arch text, detail text, outcome text, ip text, request_id text, extra jsonb not null,
    seq bigint unique, prev_hash text, hash text, mac text, day text, filed boolean not null default false)`,
  `create index audit_at on audit (at desc, id desc)`,
  `create index audit_action on audit (action, id desc)`,
  `create index audit_package on audit (package, id desc)`,
  `create index audit_user on audit (username, id desc)`,
  `create index audit_unfiled on audit (id) where not filed`,
  `create index audit_day on audit (day, seq)`,
  `create table audit_chain (
    id int primary key, seq bigint not null, hash text not null, day text not null,
    unkeyed bigint not null default 0, checkpoint text, removed_seq bigint not null default 0, removed_day text)`,
  `create table notify_cursor (id int primary key, seq bigint not null, tries int not null default 0, retry_at timestamptz)`,
  `create table webhook_deliveries (id text primary key, received_at timestamptz not null)`,
])
