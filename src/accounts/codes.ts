// Checks the codes of the second step: each is accepted once, and wrong ones are bounded per account.
import { sql } from 'kysely'
import { HOUR_MS } from '../domain/durations.ts'
import { Problem } from '../domain/problem.ts'
import type { Clock } from '../kernel/clock.ts'
import type { SecretBox } from '../kernel/crypto.ts'
import type { Db } from '../store/db.ts'
import { isAppCode, recoveryHash, stepOf } from './totp.ts'
import type { UserRow } from './user.ts'

/**
 * Three of a million codes are valid at a time. With twenty wrong ones an hour, a year of guessing succeeds with a probability
 * below one half, even from many addresses. Only people who know the password, or hold a session, can use up the guesses.
 */
const GUESSES_PER_HOUR = 20

export interface Codes {
  /**
   * Counts a guess before it is checked, so that parallel guesses all count. Recovery codes are too long to be guessed and
   * are not counted, so their owner can always log in.
   * @throws Problem `rate_limited`
   */
  countGuess(user: UserRow, code: string): Promise<void>
  /**
   * Uses up a code of the account, in the transaction of the action that it permits.
   * @returns which kind it was; null when it is wrong or was used before
   */
  use(tx: Db, user: UserRow, code: string): Promise<'app' | 'recovery' | null>
  /** The step of a code for this sealed secret; null when the code is wrong. */
  stepOf(sealedSecret: string, code: string): number | null
}

export function createCodes(deps: {
  db: Db
  clock: Clock
  secretBox: SecretBox
  onError: (error: unknown) => void
}): Codes {
  const { db, clock, secretBox, onError } = deps

  function matchingStep(sealedSecret: string, code: string): number | null {
    let secret: string
    try {
      secret = secretBox.open(sealedSecret)
    } catch (error) {
      // The settings key was replaced. Recovery codes and the reset by an admin still work.
      onError(error)
      return null
    }
    return isAppCode(code) ? stepOf(secret, code, clock.now()) : null
  }

  return {
    stepOf: matchingStep,

    async countGuess(user, code) {
      if (!isAppCode(code)) return
      const now = clock.now()
      const anHourAgo = new Date(now.getTime() - HOUR_MS)
      const counted = await db
        .updateTable('users')
        .set({
          mfa_failures: sql<number>`case when mfa_failures_since > ${anHourAgo} then least(mfa_failures + 1, 1000) else 1 end`,
          mfa_failures_since: sql<Date>`case when mfa_failures_since > ${anHourAgo} then mfa_failures_since else ${now} end`,
        })
        .where('id', '=', user.id)
        .returning(['mfa_failures', 'mfa_failures_since'])
        .executeTakeFirst()
      if (!counted?.mfa_failures_since || counted.mfa_failures <= GUESSES_PER_HOUR) return
      const left = counted.mfa_failures_since.getTime() + HOUR_MS - now.getTime()
      const retryAfterSeconds = Math.max(1, Math.ceil(left / 1000))
      throw new Problem(
        'rate_limited',
        'too many wrong codes for this account; use a recovery code or wait',
        { limit: GUESSES_PER_HOUR, retry_after: retryAfterSeconds },
        { retryAfterSeconds },
      )
    },

    async use(tx, user, code) {
      if (user.mfa_secret === null || !(await lockFactor(tx, user))) return null
      if (!isAppCode(code)) {
        const used = await tx
          .deleteFrom('recovery_codes')
          .where('user_id', '=', user.id)
          .where('code_hash', '=', recoveryHash(code))
          .returning('user_id')
          .executeTakeFirst()
        return used ? 'recovery' : null
      }
      const step = matchingStep(user.mfa_secret, code)
      if (step === null) return null
      // RFC 6238, section 5.2: a code is accepted once. The second of parallel uses finds the step used.
      const used = await tx
        .updateTable('users')
        .set({ mfa_last_step: step, mfa_failures: 0 })
        .where('id', '=', user.id)
        .where((is) => is.or([is('mfa_last_step', 'is', null), is('mfa_last_step', '<', step)]))
        .returning('id')
        .executeTakeFirst()
      return used ? 'app' : null
    },
  }
}

/**
 * Locks the account before the rows that depend on it, which prevents deadlocks.
 * @returns false when its second factor was replaced or removed meanwhile
 */
export async function lockFactor(tx: Db, user: UserRow): Promise<boolean> {
  const same = await tx
    .selectFrom('users')
    .select('id')
    .where('id', '=', user.id)
    .where('mfa_enabled', '=', true)
    .where('mfa_secret', '=', user.mfa_secret)
    .forUpdate()
    .executeTakeFirst()
  return same !== undefined
}
