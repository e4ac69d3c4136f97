// Verifies ID tokens of CI providers: signature, issuer, audience, times. The settings name the issuers.
import { decodeJwt, errors, jwtVerify, type JWTPayload } from 'jose'
import { isStorableJson } from '../../domain/storable.ts'
import type { Clock } from '../../kernel/clock.ts'
import { sha256Hex } from '../../kernel/crypto.ts'
import { requestFailure } from './guarded-fetch.ts'
import { providerProblem, type Providers } from './providers.ts'

/** RFC 8725, section 3.1: only these. With a shared secret, whoever can verify can also sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
/** Clocks of a provider and of this machine may differ by this. */
const TOLERANCE_SECONDS = 30
/** GitLab's tokens live as long as a job may run. A token must be remembered as used for its whole life. */
const LONGEST_LIFE_SECONDS = 24 * 3600

export interface IdToken {
  issuer: string
  subject: string
  audience: string
  claims: Readonly<JWTPayload>
  /** identifies the token, however its bytes are encoded */
  fingerprint: string
  /** until when it must be remembered as used */
  acceptedUntil: Date
}

/** The issuer in an unverified token; null for text that is not a token. Used only to choose whose keys are fetched. */
export function claimedIssuer(token: string): string | null {
  try {
    return decodeJwt(token).iss ?? null
  } catch {
    return null
  }
}

/**
 * @param issuer one that the settings name
 * @returns the token, or why it is refused, for the audit log
 * @throws Problem `upstream_error`, `forbidden_target` when the keys of the issuer cannot be read
 */
export async function verifyIdToken(
  deps: { clock: Clock; providers: Pick<Providers, 'keysOf'> },
  token: string,
  issuer: string,
  audiences: readonly string[],
): Promise<IdToken | { refused: string }> {
  const now = deps.clock.now()
  const keys = await deps.providers.keysOf(issuer)
  let claims: JWTPayload
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: [...audiences],
      algorithms: ALGORITHMS,
      currentDate: now,
      clockTolerance: TOLERANCE_SECONDS,
      requiredClaims: ['sub', 'exp', 'iat'],
    })
    claims = payload
  } catch (error) {
    if (requestFailure(error)) throw providerProblem(error)
    if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) throw providerProblem(error)
    // jose throws its base class when the key set does not answer 200.
    if (error instanceof errors.JOSEError && error.code === errors.JOSEError.code) throw providerProblem(error)
    if (error instanceof errors.JOSEError) return { refused: error.message }
    throw error
  }
  // The audit log stores them, and the conditions compare them.
  if (!isStorableJson(claims)) return { refused: 'a claim of it has NUL or an unpaired surrogate' }
  const { aud, sub, exp, iat } = claims
  // A token for several services could be used here by one of the others.
  const audience = Array.isArray(aud) ? (aud.length === 1 ? aud[0] : undefined) : aud
  if (audience === undefined) return { refused: 'it has several audiences' }
  if (typeof sub !== 'string' || sub === '' || exp === undefined || iat === undefined)
    return { refused: 'it has no subject' }
  const seconds = now.getTime() / 1000
  if (iat > seconds + TOLERANCE_SECONDS) return { refused: 'it was issued in the future' }
  if (exp - seconds > LONGEST_LIFE_SECONDS) return { refused: 'it is valid for more than a day' }
  return {
    issuer,
    subject: sub,
    audience,
    claims,
    fingerprint: fingerprintOf(token, issuer, claims.jti),
    acceptedUntil: new Date((exp + TOLERANCE_SECONDS) * 1000),
  }
}

/** From its id, else from the signed part: an ECDSA signature can be written in two ways, so the whole text is not unique. */
function fingerprintOf(token: string, issuer: string, jti: string | undefined): string {
  return typeof jti === 'string' && jti !== ''
    ? sha256Hex(`id ${issuer}\n${jti}`)
    : sha256Hex(`signed ${token.slice(0, token.lastIndexOf('.'))}`)
}
