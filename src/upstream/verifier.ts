// Verifies OpenPGP signatures in a reader.
import { askJob } from '../formats/readers/job.ts'
import type { ReaderPool } from '../formats/readers/pool.ts'
import { isVerified } from './jobs/checks.ts'
import type { OpenpgpVerifier } from './jobs/openpgp.ts'
import type { VerifyArgument } from './jobs/verify.ts'
import { withinLimits } from './reading.ts'

export interface Verifier {
  /** @param keys armored public keys, one or several in each text */
  withKeys(keys: readonly string[], now: Date): OpenpgpVerifier
}

/** Milliseconds; the largest accepted description takes 100. */
const REPLY_MS = 60_000

export function createVerifier(pool: ReaderPool, replyMs = REPLY_MS): Verifier {
  const ask = (argument: VerifyArgument) =>
    withinLimits('signature', `the signature of ${argument.name}`, () =>
      askJob(pool, 'upstream-verify', argument, { replyMs, isDone: isVerified }),
    )
  return {
    withKeys: (keys, now) => ({
      cleartext: (document, name) => ask({ keys, now, document, signature: null, name }),
      detached: async (document, signature, name) => (await ask({ keys, now, document, signature, name })).signedBy,
    }),
  }
}
