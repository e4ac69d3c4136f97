// Processes of the service, what they hold, and when scheduled jobs ran.
import { statements } from './run.ts'

export const operation = statements([
  `create table leases (name text primary key, holder text not null, expires_at timestamptz not null)`,
  `create table instances (id text primary key, host text not null, pid bigint not null, heartbeat_at timestamptz not null)`,
  `create table job_ticks (
    job text not null, due_at timestamptz not null, started_at timestamptz not null, finished_at timestamptz, error text,
    primary key (job, due_at))`,
  // What differs from what was stored: one row for each file, kept for a while after it is sound again.
  `create table drift (
    subject text primary key, area text not null, fault text not null, distribution text, sha256 text, package_id bigint,
    detail text not null, since timestamptz not null, last_seen timestamptz not null, reported boolean not null default false,
    resolved_at timestamptz, resolution text)`,
  `create index drift_open on drift (subject) where resolved_at is null`,
  // Backups that read the pool: until then no process removes bytes of it.
  `create table removal_holds (id text primary key, until timestamptz not null)`,
])
