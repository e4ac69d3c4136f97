// Password policy, hashing and checking.
import * as argon2 from '@node-rs/argon2'
import * as bcrypt from '@node-rs/bcrypt'
import { Problem } from '../domain/problem.ts'
import { createSemaphore } from '../kernel/semaphore.ts'

/** 25 ms and 19 MiB per hash: https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#argon2id */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** Well-formed hashes that no known password matches. Checking one costs as much as checking a real hash. */
const DECOY = `$argon2id$v=19$m=${COST.memoryCost},t=${COST.timeCost},p=${COST.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`
const bcryptDecoy = (cost: number) => `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`

/** A cost above 15 takes seconds per check, so a few logins would occupy the process. */
const IMPORTED = /^\$2[aby]\$(0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}$/

/** Hashes computed at the same time: two of the four threads of Node's pool, the others serve files and signatures. */
const AT_ONCE = 2

const POLICY = 'A password has 8 to 128 characters, an uppercase letter, and a digit or special character.'

/** Whether this is a bcrypt hash imported from another system (`$2a$`, `$2b$`, `$2y$`, cost 4 to 15). */
export function isImportedHash(hash: string): boolean {
  return IMPORTED.test(hash)
}

/**
 * The password policy (specification, Limits; at most 128 characters: docs/api-decisions.md, section 3).
 * @throws Problem `weak_password`
 */
export function requireStrong(password: string): void {
  const length = [...password].length
  const strong = length >= 8 && length <= 128 && /\p{Lu}/u.test(password) && /[^\p{L}\p{M}]/u.test(password)
  if (!strong) throw new Problem('weak_password', POLICY)
}

export interface Checked {
  ok: boolean
  /** the stored hash uses outdated parameters; only set when the password was right */
  stale: boolean
}

export interface Passwords {
  /** @throws Problem `rate_limited` when too many already wait */
  hash(password: string): Promise<string>
  /**
   * Checks a password. Every refusal costs the same: one argon2id and, while imported hashes exist, one bcrypt of their
   * highest cost.
   * @param stored null when there is no such account, or none that has a password
   * @param importedCost the highest bcrypt cost among all accounts; null when none is left
   * @throws Problem `rate_limited` when too many already wait
   */
  check(password: string, stored: string | null, importedCost: number | null): Promise<Checked>
}

/** @param deps.maxWaiting hashes and checks that may wait or run; more are refused immediately */
export function createPasswords({ maxWaiting = 100 }: { maxWaiting?: number } = {}): Passwords {
  const limited = createSemaphore(AT_ONCE)
  let present = 0

  async function bounded<T>(work: () => Promise<T>): Promise<T> {
    if (present >= maxWaiting) {
      const retryAfterSeconds = 2
      const extra = { limit: maxWaiting, retry_after: retryAfterSeconds }
      throw new Problem('rate_limited', 'too many logins at the same time; try again shortly', extra, {
        retryAfterSeconds,
      })
    }
    present++
    try {
      return await limited(work)
    } finally {
      present--
    }
  }

  return {
    hash: (password) => bounded(() => argon2.hash(password, COST)),
    check: (password, stored, importedCost) =>
      bounded(async () => {
        const imported = stored !== null && isImportedHash(stored)
        const own = stored !== null && !imported
        const matches = await argon2.verify(own ? stored : DECOY, password)
        if (own && matches) return { ok: true, stale: isStale(stored) }
        if (!imported && importedCost === null) return { ok: false, stale: false }
        const old = await bcrypt.verify(password, imported ? stored : bcryptDecoy(importedCost ?? bcrypt.DEFAULT_COST))
        return { ok: imported && old, stale: imported && old }
      }),
  }
}

function isStale(hash: string): boolean {
  const made = argon2.parseOptions(hash)
  return made.memoryCost !== COST.memoryCost || made.timeCost !== COST.timeCost || made.parallelism !== COST.parallelism
}
