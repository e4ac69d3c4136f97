// Processes of the service, what they hold, and when scheduled jobs ran.
import { statements } from './run.ts'

export const operation = statements([
  `create table leases (name text primary key, holder text not null, expires_at timestamptz not null)`,
  `create table instances (id text primary key, host text not null, pid bigint not null, heartbeat_at timestamptz not null)`,
  `create table job_ticks (
    job text not null, due_at timestamptz not null, started_at timestamptz not null, finished_at timestamptz, error text,
    primary key (job, due_at))`,
  // Backups that read the pool: until then no process removes bytes of it.
  `create table removal_holds (id text primary key, until timestamptz not null)`,
])
