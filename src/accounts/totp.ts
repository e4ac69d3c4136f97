// One-time codes that an authenticator app shows (RFC 6238), and the codes that replace a lost app.
import { Secret, TOTP } from 'otpauth'
import { randomBytes } from 'node:crypto'
import { sha256Hex } from '../kernel/crypto.ts'

/** Shown by authenticator apps above the user name. */
export const ISSUER = 'Gatehouse'
const STEP_SECONDS = 30
const ALGORITHM = { algorithm: 'SHA1', digits: 6, period: STEP_SECONDS } as const
/** Steps before and after the present one whose codes are accepted: clocks differ (RFC 6238, section 5.2). */
const TOLERANCE = 1
/** RFC 4226, section 4: the recommended length of a secret. */
const SECRET_BYTES = 20

const RECOVERY_CODES = 10
/** Letters and digits that are not mistaken for each other, 5 bits each. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const RECOVERY_LETTERS = 16

/** @returns a new secret in base32 */
export function newSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32
}

/** The URI that an authenticator app reads from the QR code. */
export function enrolmentUri(secret: string, username: string): string {
  return new TOTP({ ...ALGORITHM, secret: Secret.fromBase32(secret), issuer: ISSUER, label: username }).toString()
}

/** Whether the text has the form of an app's code. Recovery codes have another form. */
export function isAppCode(text: string): boolean {
  return /^[0-9]{6}$/.test(text)
}

/** The step whose code this is, counted from 1970; null when it is none of the accepted steps. Compares in constant time. */
export function stepOf(secret: string, code: string, now: Date): number | null {
  const timestamp = now.getTime()
  const token = code
  const delta = TOTP.validate({ ...ALGORITHM, secret: Secret.fromBase32(secret), token, timestamp, window: TOLERANCE })
  return delta === null ? null : Math.floor(timestamp / 1000 / STEP_SECONDS) + delta
}

/** Ten codes of 80 random bits, so that a plain SHA-256 of one cannot be searched for. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const letters = Array.from(randomBytes(RECOVERY_LETTERS), (byte) => LETTERS[byte % LETTERS.length])
    return letters.join('').replace(/(.{4})(?=.)/g, '$1-')
  })
}

/** The stored form of a recovery code. Case, spaces and dashes do not matter. */
export function recoveryHash(code: string): string {
  return sha256Hex(code.toUpperCase().replace(/[\s-]/g, ''))
}
