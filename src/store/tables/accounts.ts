// Accounts, sessions and tokens.
import type { Generated } from 'kysely'
import type { Role } from '../../domain/roles.ts'
import type { Scopes } from '../../domain/scopes.ts'
import type { JsonOrNull, OrNull } from './columns.ts'

export interface UsersTable {
  id: Generated<number>
  username: string
  /** lower case of `username`; unique */
  username_key: string
  password_hash: string | null
  role: Role
  full_name: Generated<string>
  email: Generated<string>
  active: Generated<boolean>
  auth_source: Generated<'local' | 'ldap' | 'oidc'>
  mfa_enabled: Generated<boolean>
  /** sealed with the settings key; without `mfa_enabled`, the enrolment was not confirmed */
  mfa_secret: string | null
  /** 30-second step of the last accepted code: only later codes are accepted */
  mfa_last_step: OrNull<number>
  /** wrong codes of the hour that began at `mfa_failures_since` */
  mfa_failures: Generated<number>
  mfa_failures_since: OrNull<Date>
  /** issuer and subject of an identity provider; unique */
  external_id: OrNull<string>
  /** when the directory last had the account */
  directory_checked_at: OrNull<Date>
  /** since when the directory does not have it: its credentials are not accepted */
  directory_gone_at: OrNull<Date>
  created_at: Date
  last_login: OrNull<Date>
}

/** One login. A JWT is valid only while its `jti` has a row here. */
export interface SessionsTable {
  jti: string
  user_id: number
  /** time of the login, kept across refreshes */
  started_at: Date
  expires_at: Date
}

/** A login with the right password that waits for its code. */
export interface MfaChallengesTable {
  id: string
  user_id: number
  tries: Generated<number>
  expires_at: Date
}

export interface RecoveryCodesTable {
  user_id: number
  code_hash: string
}

export interface ApiTokensTable {
  id: string
  name: string
  role: Role
  token_hash: string
  token_hint: string
  created_by: string
  created_by_id: number | null
  created_at: Date
  last_used: Date | null
  expires_at: Date | null
  revoked_at: Date | null
  scopes: JsonOrNull<Scopes>
  /** name of the trusted publisher for whose job the token was made; such a token has no owner */
  publisher: OrNull<string>
  /** id of the token that created it; both are revoked together */
  parent_id: OrNull<string>
}

/** A login that waits for the person to return from the identity provider. */
export interface OidcLoginsTable {
  /** SHA-256 of the state and the PKCE challenge */
  state_hash: string
  nonce: string
  redirect_uri: string
  expires_at: Date
}

/** ID tokens that were exchanged, until they expire: none is accepted twice. */
export interface UsedIdTokensTable {
  token_hash: string
  expires_at: Date
}

export interface PasswordResetsTable {
  user_id: number
  token_hash: string
  expires_at: Date
}

/** A program that asks for a session, until it expires or gets one. */
export interface DeviceSignInsTable {
  /** SHA-256 of the code that the program keeps */
  device_hash: string
  /** SHA-256 of the code that the person types */
  user_hash: string
  /** what the program says it is */
  client: string
  ip: string
  created_at: Date
  expires_at: Date
  polled_at: Date | null
  answer: 'approved' | 'denied' | null
  /** who answered */
  user_id: number | null
  /** login of the session that approved it: the new session counts from it */
  session_started_at: Date | null
}

/** Groups that the directory or the identity provider last named for an account. */
export interface UserGroupsTable {
  user_id: number
  name: string
}

/** What a machine token may do: read packages, later also report what is installed. */
export type MachineRight = 'read' | 'report'

/** A machine that signs in with a token of its own. Rows stay after it is revoked. */
export interface MachinesTable {
  id: Generated<number>
  /** unique among those that are not revoked, whatever the case */
  name: string
  tags: string[]
  rights: MachineRight[]
  token_hash: string
  token_hint: string
  /** subject or fingerprint of a client certificate, as `certificateKey` spells it */
  certificate: string | null
  enrolment_id: number | null
  created_at: Date
  created_by: string
  last_seen: OrNull<Date>
  revoked_at: OrNull<Date>
}

/** A token that only enrols machines. */
export interface MachineEnrolmentsTable {
  id: Generated<number>
  name: string
  tags: string[]
  /** machines that it may enrol */
  most: number
  used: Generated<number>
  token_hash: string
  token_hint: string
  created_at: Date
  created_by: string
  expires_at: Date
  revoked_at: OrNull<Date>
}

export type ReaderKind = 'person' | 'group' | 'machine' | 'tag'

/** Who may read a private place. */
export interface ReadersTable {
  id: Generated<number>
  /** key of a row of `distributions` */
  place: string
  kind: ReaderKind
  /** of the person, group, machine or tag, as it was given */
  name: string
  /** of a person */
  user_id: OrNull<number>
  /** of a machine */
  machine_id: OrNull<number>
  created_at: Date
  created_by: string
}

/** One row. Triggers set it to the number of the transaction with each change of what package clients may read. */
export interface AccessRevisionTable {
  id: Generated<boolean>
  revision: number
}
