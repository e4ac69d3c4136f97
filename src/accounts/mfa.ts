// The second factor of an account: set up, confirmed, disabled, its recovery codes, and the reset by an admin.
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import { Problem } from '../domain/problem.ts'
import type { SecretBox } from '../kernel/crypto.ts'
import type { Db } from '../store/db.ts'
import { change, type ChangeDeps, type Note } from './change.ts'
import { lockFactor, type Codes } from './codes.ts'
import { guessKey } from './guess-key.ts'
import type { Passwords } from './passwords.ts'
import { importedCost } from './login.ts'
import { qrCodePng } from './qr-code.ts'
import type { Slowing } from './slowing.ts'
import { enrolmentUri, ISSUER, newRecoveryCodes, newSecret, recoveryHash } from './totp.ts'
import { personOf, usernameKey, type UserRow } from './user.ts'

interface Done {
  status: 'ok'
  message: string
}

/** Proves that the request is from the owner of the account, not from somebody at an open screen. */
export interface Proof {
  /** a code of the app, or a recovery code */
  totp_code?: string | undefined
  password?: string | undefined
}

/** For the caller's own account. @throws Problem `session_required` for an API token */
export interface Mfa {
  /** Stores a new secret, which `confirm` puts in force. @throws Problem `already_exists` while a factor is in force */
  setup(caller: Caller): Promise<{
    secret: string
    uri: string
    qr_code: string
    qr_code_base64: string
    issuer: string
    username: string
  }>
  /** @throws Problem `not_found` without a set-up that waits, `wrong_code` */
  confirm(caller: Caller, code: string, origin: Origin): Promise<Done & { recovery_codes: string[] }>
  /**
   * @throws Problem `not_found`, `wrong_code`, `wrong_password`, `external_account` (another system has the password),
   * `validation_error` without a proof, `rate_limited`
   */
  disable(caller: Caller, proof: Proof, origin: Origin, signal?: AbortSignal): Promise<Done>
  /** Replaces the recovery codes. @throws as `disable` */
  replaceRecoveryCodes(
    caller: Caller,
    proof: Proof,
    origin: Origin,
    signal?: AbortSignal,
  ): Promise<Done & { recovery_codes: string[] }>
  /**
   * Removes the factor of another account, whose owner lost the app and the recovery codes.
   * @throws Problem `not_found`; `forbidden` for one's own account, which needs a proof
   */
  reset(caller: Caller, username: string, origin: Origin): Promise<Done>
}

export function createMfa(
  deps: ChangeDeps & { secretBox: SecretBox; codes: Codes; passwords: Passwords; slowing: Slowing },
): Mfa {
  const { db, audit, secretBox, codes, passwords, slowing } = deps

  async function own(caller: Caller): Promise<UserRow> {
    const person = personOf(caller)
    const row = await db.selectFrom('users').selectAll().where('id', '=', person.id).executeTakeFirst()
    if (!row) throw new Problem('unauthorized', 'a valid credential is needed')
    return row
  }

  async function refuse(action: string, user: UserRow, origin: Origin, problem: Problem): Promise<Problem> {
    const event = { action, result: 'FAILURE', user: user.username, outcome: problem.code } as const
    await audit.record({ ...event, ip: origin.ip, requestId: origin.requestId })
    return problem
  }

  /** Runs `work` when the proof is right. Wrong guesses are delayed like failed logins. */
  async function proven<T>(
    action: string,
    user: UserRow,
    proof: Proof,
    origin: Origin,
    signal: AbortSignal | undefined,
    work: (tx: Db, note: Note) => Promise<T>,
  ): Promise<T> {
    if (!user.mfa_enabled) throw notEnabled()
    const code = proof.totp_code?.trim()
    const password = proof.password
    if (!code && !password) {
      const message = 'a code or the password is needed'
      throw new Problem('validation_error', message, { errors: [{ field: 'totp_code', message }] })
    }
    if (!code && (user.auth_source !== 'local' || user.password_hash === null))
      throw new Problem('external_account', 'the password of this account is kept elsewhere; send a code')

    const key = `${code ? 'mfa ' : ''}${guessKey(user.username, origin)}`
    await slowing.attempt(key, signal)
    if (code) await codes.countGuess(user, code)
    else if (!(await passwords.check(password ?? '', user.password_hash, await importedCost(db))).ok)
      throw await refuse(action, user, origin, new Problem('wrong_password', 'the password is wrong'))

    const result = await change(deps, user.username, origin, async (tx, note) => {
      if (code ? !(await codes.use(tx, user, code)) : !(await lockFactor(tx, user))) return null
      return { value: await work(tx, note) }
    })
    if (!result) throw await refuse(action, user, origin, code ? wrongCode() : notEnabled())
    slowing.succeeded(key)
    return result.value
  }

  return {
    async setup(caller) {
      const user = await own(caller)
      const secret = newSecret()
      const stored = await db
        .updateTable('users')
        .set({ mfa_secret: secretBox.seal(secret) })
        .where('id', '=', user.id)
        .where('mfa_enabled', '=', false)
        .returning('id')
        .executeTakeFirst()
      if (!stored) throw new Problem('already_exists', 'this account has a second factor; disable it first')
      const uri = enrolmentUri(secret, user.username)
      const qr_code_base64 = qrCodePng(uri).toString('base64')
      return {
        secret,
        uri,
        qr_code: `data:image/png;base64,${qr_code_base64}`,
        qr_code_base64,
        issuer: ISSUER,
        username: user.username,
      }
    },

    async confirm(caller, code, origin) {
      const user = await own(caller)
      if (user.mfa_enabled || user.mfa_secret === null)
        throw new Problem('not_found', 'no second factor of this account waits to be confirmed')
      const step = codes.stepOf(user.mfa_secret, code.trim())
      if (step === null) throw await refuse('MFA_ENABLE', user, origin, wrongCode())
      const recovery_codes = newRecoveryCodes()
      await change(deps, user.username, origin, async (tx, note) => {
        const enabled = await tx
          .updateTable('users')
          // The confirming code cannot be used again for a login.
          .set({ mfa_enabled: true, mfa_last_step: step, mfa_failures: 0 })
          .where('id', '=', user.id)
          .where('mfa_enabled', '=', false)
          .where('mfa_secret', '=', user.mfa_secret)
          .returning('id')
          .executeTakeFirst()
        if (!enabled) throw new Problem('not_found', 'another request changed the second factor; set it up again')
        await storeRecoveryCodes(tx, user.id, recovery_codes)
        await note('MFA_ENABLE', `second factor of ${user.username} enabled`, { username: user.username })
      })
      return {
        status: 'ok',
        message: 'logins now need a code; keep the recovery codes in a safe place',
        recovery_codes,
      }
    },

    async disable(caller, proof, origin, signal) {
      const user = await own(caller)
      await proven('MFA_DISABLE', user, proof, origin, signal, async (tx, note) => {
        await removeFactor(tx, user.id)
        await note('MFA_DISABLE', `second factor of ${user.username} disabled`, { username: user.username })
      })
      return { status: 'ok', message: 'logins need no code any more' }
    },

    async replaceRecoveryCodes(caller, proof, origin, signal) {
      const user = await own(caller)
      const recovery_codes = newRecoveryCodes()
      await proven('MFA_RECOVERY_CODES', user, proof, origin, signal, async (tx, note) => {
        await storeRecoveryCodes(tx, user.id, recovery_codes)
        await note('MFA_RECOVERY_CODES', `recovery codes of ${user.username} replaced`, { username: user.username })
      })
      return { status: 'ok', message: 'the recovery codes were replaced; the old ones no longer work', recovery_codes }
    },

    async reset(caller, username, origin) {
      return change(deps, caller.name, origin, async (tx, note) => {
        const user = await tx
          .selectFrom('users')
          .selectAll()
          .where('username_key', '=', usernameKey(username))
          .forUpdate()
          .executeTakeFirst()
        if (!user) throw new Problem('not_found', 'there is no such user')
        if (user.id === caller.ownerId)
          throw new Problem(
            'forbidden',
            'use /auth/mfa/disable for your own account: it asks for a code or the password',
          )
        await removeFactor(tx, user.id)
        if (user.mfa_enabled)
          await note('MFA_DISABLE', `second factor of ${user.username} removed by ${caller.name}`, {
            username: user.username,
          })
        return { status: 'ok' as const, message: `${user.username} logs in without a code` }
      })
    },
  }
}

const notEnabled = () => new Problem('not_found', 'this account has no second factor')
const wrongCode = () => new Problem('wrong_code', 'the code is wrong or was used before')

async function storeRecoveryCodes(tx: Db, userId: number, codes: string[]): Promise<void> {
  await tx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  await tx
    .insertInto('recovery_codes')
    .values(codes.map((code) => ({ user_id: userId, code_hash: recoveryHash(code) })))
    .execute()
}

async function removeFactor(tx: Db, userId: number): Promise<void> {
  await tx
    .updateTable('users')
    .set({ mfa_enabled: false, mfa_secret: null, mfa_last_step: null, mfa_failures: 0, mfa_failures_since: null })
    .where('id', '=', userId)
    .execute()
  await tx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  await tx.deleteFrom('mfa_challenges').where('user_id', '=', userId).execute()
}
