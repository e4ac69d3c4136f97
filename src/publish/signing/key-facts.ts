// The public facts about the OpenPGP key, for people. They contain no secret.
import type * as openpgp from 'openpgp'
import { isoTime, isoTimeOrNull } from '../../kernel/clock.ts'

/** One part of a key, in GnuPG's terms. */
export interface KeyFacts {
  type: 'pub' | 'sub'
  /** `rsa4096`, `ed25519` */
  algo: string
  /** the last 16 digits of the fingerprint */
  key_id: string
  fingerprint: string
  created: string
  expires: string | null
  uids: string[]
}

/** The primary key first, then its subkeys. */
export async function factsOf(key: openpgp.PrivateKey): Promise<KeyFacts[]> {
  return Promise.all(
    key.getKeys().map(async (part) => {
      const isPrimary = part === key || part.getFingerprint() === key.getFingerprint()
      const { algorithm, bits, curve } = part.getAlgorithmInfo()
      const expires = await (isPrimary ? key.getExpirationTime() : (part as openpgp.Subkey).getExpirationTime())
      return {
        type: isPrimary ? ('pub' as const) : ('sub' as const),
        algo: curve ?? `${algorithm.replace(/^rsa.*/, 'rsa')}${bits ?? ''}`,
        key_id: part.getKeyID().toHex().toUpperCase(),
        fingerprint: part.getFingerprint().toUpperCase(),
        created: isoTime(part.getCreationTime()),
        expires: isoTimeOrNull(expires instanceof Date ? expires : null),
        uids: isPrimary ? key.getUserIDs() : [],
      }
    }),
  )
}
