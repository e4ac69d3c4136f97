// People and tokens that may sign in, and their sessions.
import { statements } from './run.ts'

export const accounts = statements([
  `create table users (
    id bigint generated always as identity primary key,
    username text not null, username_key text not null unique, password_hash text,
    role text not null, full_name text not null default '', email text not null default '',
    active boolean not null default true, auth_source text not null default 'local',
    mfa_enabled boolean not null default false, mfa_secret text,
    created_at timestamptz not null, last_login timestamptz)`,
  `create table sessions (
    jti text primary key, user_id bigint not null references users on delete cascade,
    started_at timestamptz not null, expires_at timestamptz not null)`,
  `create index sessions_user on sessions (user_id)`,
  `create index sessions_expiry on sessions (expires_at)`,
  `create table api_tokens (
    id text primary key, name text not null, role text not null, token_hash text not null unique, token_hint text not null,
    created_by text not null, created_by_id bigint references users on delete set null,
    created_at timestamptz not null, last_used timestamptz, expires_at timestamptz, revoked_at timestamptz)`,
  `create table password_resets (
    user_id bigint primary key references users on delete cascade, token_hash text not null unique, expires_at timestamptz not null)`,
])
