// The signed tokens that name a session or a login that waits for its second step.
import { jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../kernel/clock.ts'
import { usernameKey } from './user.ts'

const ISSUER = 'gatehouse'
/** As `randomUUID` makes them. A text that no row can have never reaches the database, which rejects NUL. */
const JTI = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export type JwtAlgorithm = 'HS256' | 'HS384' | 'HS512'
/** The purpose of a token. A token for one purpose is never accepted for the other. */
export type JwtPurpose = 'access' | 'mfa'

export interface Jwt {
  sign(
    purpose: JwtPurpose,
    token: { jti: string; subject: string; now: Date; lifeSeconds: number; claims?: Record<string, unknown> },
  ): Promise<string>
  /** The contents of an unaltered, unexpired token of this purpose; else null. Does not read its row. */
  read(purpose: JwtPurpose, text: string): Promise<{ jti: string; subject: string } | null>
}

/** @param deps.secret signs the tokens, as UTF-8 bytes */
export function createJwt({
  clock,
  secret,
  algorithm,
}: {
  clock: Clock
  secret: string
  algorithm: JwtAlgorithm
}): Jwt {
  if (secret === '') throw new Error('the secret that signs sessions is empty')
  // Imported once: verifying with raw bytes takes four times as long.
  const hash = `SHA-${algorithm.slice(2)}`
  const key = crypto.subtle.importKey('raw', new TextEncoder().encode(secret), { name: 'HMAC', hash }, false, [
    'sign',
    'verify',
  ])

  return {
    async sign(purpose, { jti, subject, now, lifeSeconds, claims = {} }) {
      const issued = Math.floor(now.getTime() / 1000)
      return new SignJWT({ ...claims, typ: purpose })
        .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
        .setSubject(subject)
        .setIssuer(ISSUER)
        .setIssuedAt(issued)
        .setExpirationTime(issued + lifeSeconds)
        .setJti(jti)
        .sign(await key)
    },

    async read(purpose, text) {
      try {
        const { payload } = await jwtVerify(text, await key, {
          algorithms: [algorithm],
          issuer: ISSUER,
          currentDate: clock.now(),
          requiredClaims: ['sub', 'exp', 'iat', 'jti'],
        })
        const { typ, jti, sub } = payload
        if (typ !== purpose || typeof jti !== 'string' || typeof sub !== 'string') return null
        return JTI.test(jti) && usernameKey(sub) !== '' ? { jti, subject: sub } : null
      } catch {
        // The reason is not reported: it would only help whoever forged the token.
        return null
      }
    },
  }
}
