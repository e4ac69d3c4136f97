// Programs that ask for a session which a signed-in person approves elsewhere. Only digests of their codes are kept.
import { statements } from './run.ts'

export const deviceSignIns = statements([
  `create table device_sign_ins (
    device_hash text primary key, user_hash text not null unique, client text not null, ip text not null,
    created_at timestamptz not null, expires_at timestamptz not null, polled_at timestamptz,
    answer text check (answer in ('approved', 'denied')), user_id integer references users on delete cascade,
    session_started_at timestamptz)`,
  `create index device_sign_ins_expiry on device_sign_ins (expires_at)`,
])
