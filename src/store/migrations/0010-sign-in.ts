// Ways to sign in beside a password: one-time codes, OpenID Connect, ID tokens of CI providers; and scopes of API tokens.
import { statements } from './run.ts'

export const signIn = statements([
  `alter table users add column mfa_last_step bigint, add column mfa_failures integer not null default 0,
    add column mfa_failures_since timestamptz, add column external_id text`,
  `create unique index users_external_id on users (external_id)`,
  `create table mfa_challenges (
    id text primary key, user_id bigint not null references users on delete cascade, tries integer not null default 0,
    expires_at timestamptz not null)`,
  `create index mfa_challenges_user on mfa_challenges (user_id)`,
  `create index mfa_challenges_expiry on mfa_challenges (expires_at)`,
  `create table recovery_codes (
    user_id bigint not null references users on delete cascade, code_hash text not null, primary key (user_id, code_hash))`,
  `alter table api_tokens add column scopes jsonb, add column publisher text`,
  `create table oidc_logins (
    state_hash text primary key, nonce text not null, redirect_uri text not null, expires_at timestamptz not null)`,
  `create index oidc_logins_expiry on oidc_logins (expires_at)`,
  `create table used_id_tokens (token_hash text primary key, expires_at timestamptz not null)`,
  `create index used_id_tokens_expiry on used_id_tokens (expires_at)`,
])
