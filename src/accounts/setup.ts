// First-run setup: status, the checks before it, and the first admin.
import { sql } from 'kysely'
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import { invalidField, Problem } from '../domain/problem.ts'
import { isoTime, type Clock } from '../kernel/clock.ts'
import { equalSecret } from '../kernel/crypto.ts'
import { createShared } from '../kernel/shared.ts'
import type { Db } from '../store/db.ts'
import { change, type ChangeDeps, type Note } from './change.ts'
import { isImportedHash, requireStrong, type Passwords } from './passwords.ts'
import type { Sessions } from './sessions.ts'
import { requireEmail, requireFullName, requireUsername, usernameKey, type UserRow } from './user.ts'

export const PREFLIGHT_CHECKS = ['database', 'disk_space', 'antivirus', 'vulnscan', 'secrets', 'tls'] as const
export type PreflightCheck = (typeof PREFLIGHT_CHECKS)[number]
export interface CheckResult {
  ok: boolean
  detail: string
}

export interface SetupStatus {
  admin_exists: boolean
  setup_done: boolean
  needs_setup: boolean
  setup_token_required: boolean
  checked_at: string
}

export interface FirstAdmin {
  admin_username: string
  admin_password: string
  admin_email?: string
  admin_full_name?: string
  app_url?: string
}

export interface SetupAnswer {
  admin_username: string
  access_token: string
  token_type: 'bearer'
  message: string
}

export interface Setup {
  status(): Promise<SetupStatus>
  /**
   * Creates the first admin and logs them in. Of concurrent calls, in any number of processes, exactly one succeeds.
   * @param setupToken the header `X-Setup-Token`
   * @throws Problem `setup_done`, `setup_token_invalid`, `validation_error`, `weak_password`
   */
  createFirstAdmin(wanted: FirstAdmin, setupToken: string | undefined, origin: Origin): Promise<SetupAnswer>
  /** Public until an admin exists, then for admins. @throws Problem `unauthorized`, `forbidden` */
  preflight(caller: Caller | null): Promise<{ checks: Record<PreflightCheck, CheckResult> }>
  /**
   * Creates the admin that the environment names, only while no admin exists: one that was deleted or renamed must not
   * come back with the next start.
   * @returns why none was created, as a sentence for the log; null when it was
   */
  seedAdmin(seed: { username: string; passwordHash: string }): Promise<{ seeded: boolean; reason: string | null }>
}

/**
 * @param deps.setupToken empty or absent when none is required
 * @param deps.saveAppUrl called after the admin was created
 */
export function createSetup(
  deps: ChangeDeps & {
    clock: Clock
    passwords: Passwords
    sessions: Sessions
    setupToken?: string
    checks: Record<PreflightCheck, () => Promise<CheckResult>>
    saveAppUrl: (url: string) => Promise<void>
  },
): Setup {
  const { db, clock, passwords, sessions, setupToken = '', checks, saveAppUrl, onError } = deps

  async function adminExists(within: Db): Promise<boolean> {
    const admin = await within.selectFrom('users').select('id').where('role', '=', 'admin').limit(1).executeTakeFirst()
    return admin !== undefined
  }

  const setupDone = () => new Problem('setup_done', 'an admin exists already')

  /** @throws Problem `setup_done` */
  async function insertFirstAdmin(
    admin: { username: string; password_hash: string; full_name?: string; email?: string },
    tx: Db,
    note: Note,
  ): Promise<UserRow> {
    // No row exists that concurrent callers could lock, so they lock the table.
    await sql`lock table users in share row exclusive mode`.execute(tx)
    if (await adminExists(tx)) throw setupDone()
    const row = await tx
      .insertInto('users')
      .values({ ...admin, username_key: usernameKey(admin.username), role: 'admin', created_at: clock.now() })
      .onConflict((conflict) => conflict.column('username_key').doNothing())
      .returningAll()
      .executeTakeFirst()
    if (!row) throw new Problem('already_exists', 'a user of this name exists')
    await note('SETUP', `first admin ${row.username} created`, { username: row.username })
    return row
  }

  const runChecks = createShared(async () => {
    const results = PREFLIGHT_CHECKS.map(async (name): Promise<[PreflightCheck, CheckResult]> => {
      try {
        const { ok, detail } = await checks[name]()
        return [name, { ok, detail }]
      } catch (error) {
        onError(error)
        return [name, { ok: false, detail: 'the check itself failed; the log says why' }]
      }
    })
    return { checks: Object.fromEntries(await Promise.all(results)) as Record<PreflightCheck, CheckResult> }
  })

  return {
    async status() {
      const exists = await adminExists(db)
      return {
        admin_exists: exists,
        setup_done: exists,
        needs_setup: !exists,
        setup_token_required: setupToken !== '',
        checked_at: isoTime(clock.now()),
      }
    },

    async createFirstAdmin(wanted, token, origin) {
      if (await adminExists(db)) throw setupDone()
      if (setupToken !== '' && !equalSecret(token ?? '', setupToken)) {
        throw new Problem('setup_token_invalid', 'the header X-Setup-Token is missing or wrong')
      }
      const username = requireUsername(wanted.admin_username, 'admin_username')
      const full_name = requireFullName(wanted.admin_full_name ?? '', 'admin_full_name')
      const email = requireEmail(wanted.admin_email ?? '', 'admin_email')
      const appUrl = wanted.app_url ? requireWebAddress(wanted.app_url) : null
      requireStrong(wanted.admin_password)
      const password_hash = await passwords.hash(wanted.admin_password)
      const answer = await change(deps, username, origin, async (tx, note) => {
        const admin = await insertFirstAdmin({ username, password_hash, full_name, email }, tx, note)
        await tx.updateTable('users').set({ last_login: clock.now() }).where('id', '=', admin.id).execute()
        return sessions.begin(admin, tx)
      })
      const saved =
        appUrl === null ||
        (await saveAppUrl(appUrl).then(
          () => true,
          (error: unknown) => (onError(error), false),
        ))
      return {
        admin_username: username,
        access_token: answer.access_token,
        token_type: answer.token_type,
        message: saved
          ? 'the first admin was created'
          : 'the first admin was created, but app_url could not be saved; set it in the settings',
      }
    },

    async preflight(caller) {
      if (await adminExists(db)) {
        if (!caller) throw new Problem('unauthorized', 'a valid credential is needed')
        if (caller.role !== 'admin') throw new Problem('forbidden', 'only an admin may see this once setup is done')
      }
      return runChecks()
    },

    async seedAdmin({ username, passwordHash }) {
      const refused = (reason: string) => ({ seeded: false, reason })
      if (usernameKey(username) === '') return refused('ADMIN_USERNAME is no valid user name')
      if (!isImportedHash(passwordHash)) return refused('ADMIN_PASSWORD_HASH is no bcrypt hash of cost 4 to 15')
      if (await adminExists(db)) return refused('an admin exists already')
      try {
        await change(deps, 'system', { ip: null, requestId: null }, (tx, note) =>
          insertFirstAdmin({ username, password_hash: passwordHash }, tx, note),
        )
      } catch (error) {
        if (error instanceof Problem) return refused(error.detail)
        throw error
      }
      return { seeded: true, reason: null }
    },
  }
}

/** @throws Problem `validation_error` */
function requireWebAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw invalidField('app_url', 'must be an http or https address')
  }
  return text.replace(/\/+$/, '')
}
