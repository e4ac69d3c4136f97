// Checks signatures with the repository's own public keys.
import { createVerify } from 'node:crypto'
import { isProblem } from '../../domain/problem.ts'
import type { OwnSignatures } from '../../formats/format.ts'
import type { Signers } from '../../formats/intake-format.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { ReaderPool } from '../../formats/readers/pool.ts'
import { createVerifier } from '../../upstream/verifier.ts'

/** OpenPGP signatures are verified in the same readers as those of upstreams. */
export function createOwnSignatures({ openpgp, apk }: Signers, clock: Clock, readers: ReaderPool): OwnSignatures {
  const verifier = createVerifier(readers)
  const ours = () => verifier.withKeys([openpgp.publicKeyArmored], clock.now())
  return {
    get openpgpArmored() {
      return openpgp.publicKeyArmored
    },
    cleartext: async (document) => (await orNull(ours().cleartext(document, 'the index')))?.text ?? null,
    detached: async (content, signature) => (await orNull(ours().detached(content, signature, 'the index'))) !== null,
    apk: {
      keyName: apk.keyName,
      verify: (content, signature) => createVerify('RSA-SHA256').update(content).verify(apk.publicKeyPem, signature),
    },
  }
}

/** A wrong signature is a result, not a failure. */
function orNull<T>(work: Promise<T>): Promise<T | null> {
  return work.catch((error: unknown) => {
    if (isProblem(error, 'upstream_error')) return null
    throw error
  })
}
