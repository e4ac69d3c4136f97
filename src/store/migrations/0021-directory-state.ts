// What the directory last said of an account. A build before this one neither reads nor writes it: its logins count by `last_login`.
import { statements } from './run.ts'

export const directoryState = statements([
  `alter table users add column directory_checked_at timestamptz, add column directory_gone_at timestamptz`,
  `update users set directory_checked_at = now() where auth_source = 'ldap'`,
])
