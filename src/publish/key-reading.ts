// Inside a reader: reads the OpenPGP keys that people configured for sources.
import { readKeys } from 'openpgp'
import type { SourceKey } from './package-keys.ts'

const ARMORED_KEYS = /-----BEGIN PGP PUBLIC KEY BLOCK-----[^]*?-----END PGP PUBLIC KEY BLOCK-----/g

/** A key that cannot be parsed must not prevent the use of the others. */
export async function parseKeys({ text }: { text: string }): Promise<SourceKey[]> {
  const found: SourceKey[] = []
  for (const [block] of text.matchAll(ARMORED_KEYS))
    for (const key of await readKeys({ armoredKeys: block }).catch(() => []))
      found.push({
        fingerprint: key.getFingerprint().toUpperCase(),
        ids: key.getKeys().map((part) => part.getKeyID().toHex().toUpperCase()),
        armored: key.toPublic().armor(),
      })
  return found
}
