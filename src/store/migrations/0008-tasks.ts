// Long work as rows: what is queued, running and ended, and its log lines.
import { statements } from './run.ts'

export const tasks = statements([
  `create table tasks (
    id bigint generated always as identity primary key, kind text not null, key text not null default '',
    arguments jsonb not null default '{}',
    state text not null check (state in ('queued', 'running', 'cancelling', 'done', 'failed', 'cancelled')),
    cursor jsonb, holder text, heartbeat_at timestamptz, attempts int not null default 0, line_count int not null default 0,
    created_at timestamptz not null, created_by text not null, request_id text, started_at timestamptz, finished_at timestamptz,
    result jsonb, error_code text, error text, error_extra jsonb)`,
  // A task that a shutdown interrupted is queued again, but new requests do not join it: it covers less than they ask for.
  `create unique index tasks_joinable on tasks (kind, key) where state = 'queued' and started_at is null`,
  `create unique index tasks_held on tasks (kind, key) where state in ('running', 'cancelling')`,
  `create index tasks_open on tasks (id) where state in ('queued', 'running', 'cancelling')`,
  `create index tasks_by_kind on tasks (kind, key, id)`,
  `create index tasks_finished on tasks (finished_at) where finished_at is not null`,
  `create table task_lines (
    task_id bigint not null references tasks (id) on delete cascade, seq int not null, at timestamptz not null,
    level text not null, message text not null, data jsonb, primary key (task_id, seq))`,
])
