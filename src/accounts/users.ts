// User management by admins, with the rules that keep at least one active admin.
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import { Problem } from '../domain/problem.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../store/db.ts'
import { change, type ChangeDeps } from './change.ts'
import { requireStrong, type Passwords } from './passwords.ts'
import { replacePassword } from './replace-password.ts'
import {
  requireEmail,
  requireFullName,
  requireRole,
  requireUsername,
  userOf,
  usernameKey,
  type User,
  type UserRow,
} from './user.ts'

export interface NewUser {
  username: string
  password: string
  role: string
  full_name?: string
  email?: string
}

export interface UserPatch {
  role?: string
  full_name?: string
  email?: string
  active?: boolean
}

/** Receives the user before a change, and throws to refuse it. */
type Check = (before: User) => void

/** Usernames are matched ignoring case. @throws Problem `not_found` for an unknown name */
export interface Users {
  list(): Promise<{ users: User[]; total: number }>
  find(username: string): Promise<User>
  /** @throws Problem `validation_error`, `invalid_role`, `weak_password`, `already_exists` */
  create(caller: Caller, wanted: NewUser, origin: Origin): Promise<User>
  /** @throws Problem `validation_error`, `invalid_role`, `self_role_change`, `self_deactivate`, `last_admin` */
  update(caller: Caller, username: string, patch: UserPatch, origin: Origin, check?: Check): Promise<User>
  /** Deletes the account and its sessions, and revokes its API tokens. @throws Problem `self_delete`, `last_admin` */
  remove(
    caller: Caller,
    username: string,
    origin: Origin,
    check?: Check,
  ): Promise<{ status: 'deleted'; username: string }>
  /** @throws Problem `weak_password`, `external_account` */
  resetPassword(
    caller: Caller,
    username: string,
    password: string,
    origin: Origin,
  ): Promise<{ status: 'ok'; message: string }>
}

export function createUsers(deps: ChangeDeps & { clock: Clock; passwords: Passwords }): Users {
  const { db, clock, passwords } = deps

  return {
    async list() {
      const rows = await db.selectFrom('users').selectAll().orderBy('username_key').execute()
      return { users: rows.map(userOf), total: rows.length }
    },

    async find(username) {
      const row = await db
        .selectFrom('users')
        .selectAll()
        .where('username_key', '=', usernameKey(username))
        .executeTakeFirst()
      if (!row) throw noSuchUser()
      return userOf(row)
    },

    async create(caller, wanted, origin) {
      const username = requireUsername(wanted.username)
      const role = requireRole(wanted.role)
      const full_name = requireFullName(wanted.full_name ?? '')
      const email = requireEmail(wanted.email ?? '')
      requireStrong(wanted.password)
      const password_hash = await passwords.hash(wanted.password)
      return change(deps, caller.name, origin, async (tx, note) => {
        const row = await tx
          .insertInto('users')
          .values({
            username,
            username_key: usernameKey(username),
            password_hash,
            role,
            full_name,
            email,
            created_at: clock.now(),
          })
          .onConflict((conflict) => conflict.column('username_key').doNothing())
          .returningAll()
          .executeTakeFirst()
        if (!row) throw new Problem('already_exists', 'a user of this name exists')
        await note('USER_CREATE', `user ${username} created as ${role}`, { username, role })
        return userOf(row)
      })
    },

    async update(caller, username, patch, origin, check) {
      const wanted = {
        ...(patch.role === undefined ? {} : { role: requireRole(patch.role) }),
        ...(patch.full_name === undefined ? {} : { full_name: requireFullName(patch.full_name) }),
        ...(patch.email === undefined ? {} : { email: requireEmail(patch.email) }),
        ...(patch.active === undefined ? {} : { active: patch.active }),
      }
      return change(deps, caller.name, origin, async (tx, note) => {
        const { user, otherAdmins } = await lockUserAndAdmins(tx, username)
        check?.(userOf(user))
        const next = { ...user, ...wanted }
        if (caller.ownerId === user.id && next.role !== user.role) {
          throw new Problem('self_role_change', 'you cannot change your own role')
        }
        if (caller.ownerId === user.id && !next.active)
          throw new Problem('self_deactivate', 'you cannot deactivate yourself')
        if (!isActiveAdmin(next)) requireAdminLeft(user, otherAdmins)

        const changed = (['full_name', 'email', 'active'] as const).filter((field) => next[field] !== user[field])
        if (changed.length === 0 && next.role === user.role) return userOf(user)
        await tx.updateTable('users').set(wanted).where('id', '=', user.id).execute()
        // A reset link sent to the old address must not open the account.
        if (next.email !== user.email) await tx.deleteFrom('password_resets').where('user_id', '=', user.id).execute()
        if (next.role !== user.role) {
          const detail = `role of ${user.username} changed from ${user.role} to ${next.role}`
          await note('USER_ROLE_CHANGE', detail, { username: user.username, from: user.role, to: next.role })
        }
        if (changed.length > 0) {
          const after = Object.fromEntries(changed.map((field) => [field, next[field]]))
          await note('USER_UPDATE', `${changed.join(', ')} of ${user.username} changed`, {
            username: user.username,
            ...after,
          })
        }
        return userOf(next)
      })
    },

    async remove(caller, username, origin, check) {
      return change(deps, caller.name, origin, async (tx, note) => {
        const { user, otherAdmins } = await lockUserAndAdmins(tx, username)
        check?.(userOf(user))
        if (caller.ownerId === user.id) throw new Problem('self_delete', 'you cannot delete your own account')
        requireAdminLeft(user, otherAdmins)
        const tokens = await tx
          .updateTable('api_tokens')
          .set({ revoked_at: clock.now() })
          .where('created_by_id', '=', user.id)
          .where('revoked_at', 'is', null)
          .returning('name')
          .execute()
        await tx.deleteFrom('users').where('id', '=', user.id).execute()
        const revoked_tokens = tokens.map((token) => token.name)
        await note('USER_DELETE', `user ${user.username} deleted`, {
          username: user.username,
          role: user.role,
          revoked_tokens,
        })
        return { status: 'deleted' as const, username: user.username }
      })
    },

    async resetPassword(caller, username, password, origin) {
      requireStrong(password)
      const user = await db
        .selectFrom('users')
        .selectAll()
        .where('username_key', '=', usernameKey(username))
        .executeTakeFirst()
      if (!user) throw noSuchUser()
      if (user.auth_source !== 'local')
        throw new Problem('external_account', 'the password of this account is kept elsewhere')
      const hash = await passwords.hash(password)
      return change(deps, caller.name, origin, async (tx, note) => {
        const keepSession = caller.kind === 'session' && caller.ownerId === user.id ? caller.credentialId : null
        if (!(await replacePassword(tx, { userId: user.id, hash, keepSession }))) throw noSuchUser()
        await note('PASSWORD_RESET', `password of ${user.username} set by ${caller.name}`, { username: user.username })
        return {
          status: 'ok' as const,
          message: `the password of ${user.username} was set; their sessions have ended`,
        }
      })
    },
  }
}

const noSuchUser = () => new Problem('not_found', 'there is no such user')
const isActiveAdmin = (user: Pick<UserRow, 'role' | 'active'>) => user.role === 'admin' && user.active

function requireAdminLeft(user: UserRow, otherAdmins: number): void {
  if (isActiveAdmin(user) && otherAdmins === 0) {
    throw new Problem('last_admin', 'this is the last active admin; name another one first')
  }
}

/**
 * Locks the user and every active admin until the transaction ends: of two admins who demote each other, the second
 * waits here and then finds the first no longer an admin. Rows are locked in the order of ids, which prevents deadlocks.
 */
async function lockUserAndAdmins(tx: Db, username: string): Promise<{ user: UserRow; otherAdmins: number }> {
  const key = usernameKey(username)
  const rows = await tx
    .selectFrom('users')
    .selectAll()
    .where((is) => is.or([is('username_key', '=', key), is.and([is('role', '=', 'admin'), is('active', '=', true)])]))
    .orderBy('id')
    .forUpdate()
    .execute()
  const user = rows.find((row) => row.username_key === key)
  if (!user) throw noSuchUser()
  return { user, otherAdmins: rows.filter((row) => row !== user && isActiveAdmin(row)).length }
}
