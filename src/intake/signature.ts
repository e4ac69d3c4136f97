// The signature step: who vouches for the file when a client installs it.
import type { Clock } from '../kernel/clock.ts'
import { fsyncPath, removeFile } from '../kernel/files.ts'
import type { Signers, SignatureVerdict } from '../formats/format.ts'
import type { PipelineWord, Verdict } from '../domain/status.ts'
import type { Candidate, Step, StepResult } from './arrival.ts'
import { measure } from './receive.ts'

const WORDS: Record<SignatureVerdict['outcome'], PipelineWord> = {
  verified: 'signed',
  unknown_key: 'unverified',
  invalid: 'invalid',
  unsigned: 'unsigned',
}

const say = (outcome: Verdict['outcome'], word: PipelineWord, message: string): Verdict => ({
  name: 'gpg',
  outcome,
  word,
  message,
})

/**
 * A deb or apk needs no signature of its own: the index that names its digest is signed by us. An rpm is asked for
 * one; where nobody known has signed it, a copy gets ours, so that clients with `gpgcheck=1` need one key.
 */
export function signatureStep(parts: { signers: Signers; clock: Clock; newPath(): string }): Step {
  async function signedCopy(candidate: Candidate, sign: NonNullable<Candidate['format']['sign']>): Promise<Candidate> {
    const path = parts.newPath()
    try {
      await sign(candidate.path, path, parts.signers, parts.clock.now())
      await fsyncPath(path)
      const staged = await measure(path)
      // Its header has other offsets now, which the index tells clients.
      return { ...candidate, ...staged, facts: await candidate.format.read(path) }
    } catch (error) {
      removeFile(path)
      throw error
    }
  }

  return {
    key: 'gpg',
    label: 'Signature',
    async run(candidate, settings): Promise<StepResult> {
      const { format } = candidate
      if (!format.verifySignature)
        return { verdict: say('pass', 'signed', 'its digest is carried by the signed index') }
      const { outcome, keyId } = await format.verifySignature(candidate.path, [parts.signers.openpgp.publicKeyArmored])
      const arrived = {
        verified: `signed by the known key ${keyId}`,
        unknown_key: `signed by a key nobody here knows (${keyId ?? 'no key id'})`,
        invalid: 'its signature does not fit its bytes',
        unsigned: 'unsigned',
      }[outcome]
      const word = WORDS[outcome]
      if (outcome === 'verified') return { verdict: say('pass', word, arrived) }
      if (outcome === 'invalid') return { verdict: say('refuse', word, arrived) }
      if (settings.validation.gpg_required)
        return { verdict: say('refuse', word, `${arrived}, and a known signature is required`) }
      if (!settings.validation.sign_packages || !format.sign)
        return { verdict: say('warn', word, `${arrived}; clients that check signatures refuse it`) }
      const signed = await signedCopy(candidate, format.sign)
      return {
        candidate: signed,
        verdict: {
          ...say('pass', 'signed', `arrived ${arrived}; signed with the repository key`),
          detail: { received_sha256: candidate.receivedSha256 },
        },
      }
    },
  }
}
