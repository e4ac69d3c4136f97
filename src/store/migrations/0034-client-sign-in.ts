// Sign-in of package clients: private distributions, machines, who may read what, and a number that each change of it changes.
import { statements } from './run.ts'

/**
 * The number is that of the last transaction, so that one with thousands of changes writes it once. The triggers are deferred: they
 * take the one row at the end of a transaction only, so that transactions do not block each other in a circle.
 */
const raises = (table: string, event: string, when = '') =>
  `create constraint trigger ${table}_${event.split(' ')[0]}_access after ${event} on ${table} deferrable initially deferred
    for each row ${when === '' ? '' : `when (${when})`} execute function note_access_change()`

const changed = (...columns: string[]) => columns.map((one) => `old.${one} is distinct from new.${one}`).join(' or ')

export const clientSignIn = statements([
  `alter table distributions add column private boolean not null default false`,
  `create table machine_enrolments (
    id integer generated always as identity primary key, name text not null, tags text[] not null, most integer not null,
    used integer not null default 0, token_hash text not null unique, token_hint text not null, created_at timestamptz not null,
    created_by text not null, expires_at timestamptz not null, revoked_at timestamptz)`,
  `create table machines (
    id integer generated always as identity primary key, name text not null, tags text[] not null, rights text[] not null,
    token_hash text not null unique, token_hint text not null, certificate text,
    enrolment_id integer references machine_enrolments, created_at timestamptz not null, created_by text not null,
    last_seen timestamptz, revoked_at timestamptz)`,
  `create unique index machines_live_name on machines (lower(name)) where revoked_at is null`,
  `create unique index machines_live_certificate on machines (certificate) where revoked_at is null`,
  `create index machines_tags on machines using gin (tags)`,
  `create table user_groups (
    user_id bigint not null references users on delete cascade, name text not null, primary key (user_id, name))`,
  `create table readers (
    id integer generated always as identity primary key, place text not null references distributions on delete cascade,
    kind text not null check (kind in ('person', 'group', 'machine', 'tag')), name text not null,
    user_id bigint references users on delete cascade, machine_id integer references machines on delete cascade,
    created_at timestamptz not null, created_by text not null)`,
  `create unique index readers_once on readers (place, kind, coalesce(user_id::text, machine_id::text, name))`,
  `create table access_revision (id boolean primary key default true check (id), revision bigint not null)`,
  `insert into access_revision (revision) values (1)`,
  `create function note_access_change() returns trigger language plpgsql as $$
    begin
      update access_revision set revision = pg_current_xact_id()::text::bigint
        where revision <> pg_current_xact_id()::text::bigint;
      return null;
    end $$`,
  raises('distributions', 'update', changed('private')),
  raises('machines', 'insert'),
  raises('machines', 'update', changed('name', 'tags', 'rights', 'token_hash', 'certificate', 'revoked_at')),
  raises('readers', 'insert'),
  raises('readers', 'delete'),
  // A person may be in thousands of groups.
  ...['insert', 'delete'].map(
    (event) => `create trigger user_groups_${event}_access after ${event} on user_groups
      for each statement execute function note_access_change()`,
  ),
  raises('users', 'update', changed('active', 'directory_gone_at')),
  raises('users', 'delete'),
  raises('api_tokens', 'insert', 'new.created_by_id is not null'),
  raises('api_tokens', 'update', `new.created_by_id is not null and (${changed('revoked_at')})`),
])
