// The account of a person whom a directory or an identity provider knows: created, kept up to date, or refused.
import type { Role } from '../domain/roles.ts'
import type { Db } from '../store/db.ts'
import { replaceGroups } from './readers/groups.ts'
import type { Note } from './change.ts'
import { EMAIL_MAX, EMAIL_PATTERN, FULL_NAME_MAX, usernameKey, type UserRow } from './user.ts'

export interface ExternalAccount {
  source: 'ldap' | 'oidc'
  /** permanent id of the person, if the source has one; else the user name identifies them */
  externalId: string | null
  username: string
  email: string
  fullName: string
  role: Role
  /** as the source names them */
  groups: readonly string[]
  /** an existing account keeps its role, because nothing at the source decides about it */
  keepsRole: boolean
  mayCreate: boolean
}

/** Why there is no account, for the audit log. */
export interface SignInRefusal {
  refused: string
  /** an account of another kind has the name; it is never taken over */
  conflict?: boolean
}

/**
 * Creates or updates the account within the transaction of the login, and records it.
 * @param isLogin false when nobody logs in and the account is only compared with its source
 */
export async function adoptAccount(
  tx: Db,
  account: ExternalAccount,
  now: Date,
  note: Note,
  { isLogin = true }: { isLogin?: boolean } = {},
): Promise<UserRow | SignInRefusal> {
  const key = usernameKey(account.username)
  if (key === '') return { refused: 'the name is no user name here' }
  const { source, externalId } = account
  // Admins are locked too, in the order of ids: two logins must not take the role from the last two.
  const rows = await tx
    .selectFrom('users')
    .selectAll()
    .where((is) =>
      is.or([
        is('username_key', '=', key),
        ...(externalId === null ? [] : [is('external_id', '=', externalId)]),
        is.and([is('role', '=', 'admin'), is('active', '=', true)]),
      ]),
    )
    .orderBy('id')
    .forUpdate()
    .execute()
  const namesake = rows.find((row) => row.username_key === key)
  const user = externalId === null ? namesake : rows.find((row) => row.external_id === externalId)
  if (user ? user.auth_source !== source : namesake)
    return { refused: 'an account of another kind has this name', conflict: true }
  if (!user) return create(tx, account, now, note)
  if (!user.active) return { refused: 'account disabled' }

  const role = account.keepsRole ? user.role : account.role
  const isOtherAdmin = (row: UserRow) =>
    row.id !== user.id && row.role === 'admin' && row.active && row.directory_gone_at === null
  if (user.role === 'admin' && role !== 'admin' && !rows.some(isOtherAdmin))
    return { refused: `would be ${role}, and is the last active admin` }
  const { email, full_name } = fieldsOf(account)
  const changed = Object.entries({ email, full_name }).filter(([field, value]) => user[field as 'email'] !== value)
  const by = `${source}_sync`
  if (role !== user.role) {
    const detail = `role of ${user.username} changed from ${user.role} to ${role}`
    await note('USER_ROLE_CHANGE', detail, { username: user.username, from: user.role, to: role }, by)
  }
  if (changed.length > 0) {
    const detail = `${changed.map(([field]) => field).join(', ')} of ${user.username} changed`
    await note('USER_UPDATE', detail, { username: user.username, ...Object.fromEntries(changed) }, by)
  }
  if (user.directory_gone_at !== null)
    await note('USER_RESTORE', `${user.username} is back`, { username: user.username }, by)
  // With a second factor the login is not complete yet.
  const login = isLogin && !user.mfa_enabled ? { last_login: now } : {}
  const updated = await tx
    .updateTable('users')
    .set({ role, email, full_name, ...login, ...confirmed(source, now) })
    .where('id', '=', user.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  await replaceGroups(tx, user.id, account.groups)
  return updated
}

const confirmed = (source: ExternalAccount['source'], now: Date) =>
  source === 'ldap' ? { directory_checked_at: now, directory_gone_at: null } : {}

async function create(tx: Db, account: ExternalAccount, now: Date, note: Note): Promise<UserRow | SignInRefusal> {
  const { source, username, role } = account
  if (!account.mayCreate) return { refused: 'no account, and none is created at logins' }
  const created = await tx
    .insertInto('users')
    .values({
      username,
      username_key: usernameKey(username),
      password_hash: null,
      auth_source: source,
      external_id: account.externalId,
      role,
      ...fieldsOf(account),
      created_at: now,
      last_login: now,
      ...confirmed(source, now),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
  if (!created) return { refused: 'changed meanwhile' }
  const action = source === 'oidc' ? 'OIDC_PROVISION' : 'USER_CREATE'
  await note(action, `user ${username} created as ${role}`, { username, role }, `${source}_provision`)
  await replaceGroups(tx, created.id, account.groups)
  return created
}

/** Values of other systems in the form of accounts; values that do not fit are left out. */
function fieldsOf({ email, fullName }: ExternalAccount): { email: string; full_name: string } {
  const fits = email.length <= EMAIL_MAX && new RegExp(EMAIL_PATTERN).test(email)
  const line = fullName.replace(/[^\P{C}]/gu, ' ').trim()
  return { email: fits ? email : '', full_name: line.slice(0, FULL_NAME_MAX) }
}
