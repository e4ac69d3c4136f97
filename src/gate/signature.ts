// The signature step: decides whose signature clients will check when they install the file.
import type { Clock } from '../kernel/clock.ts'
import { measure } from '../kernel/digests.ts'
import { fsyncPath, removeFile } from '../kernel/files.ts'
import type { Signers, SignatureVerdict } from '../formats/format.ts'
import type { PipelineResult, Verdict } from '../domain/status.ts'
import type { Candidate, Step, StepResult } from './step.ts'

const RESULTS: Record<SignatureVerdict['outcome'], PipelineResult> = {
  verified: 'signed',
  unknown_key: 'unverified',
  invalid: 'invalid',
  unsigned: 'unsigned',
}

const verdictOf = (outcome: Verdict['outcome'], result: PipelineResult, message: string): Verdict => ({
  name: 'gpg',
  outcome,
  result,
  message,
})

/** The keys of import sources. */
export interface SourceKeys {
  /** @param type the format's word in REPO_FORMAT */
  find(type: string, keyId: string): Promise<{ fingerprint: string; armored: string } | null>
  /** Resolves when clients can fetch the key. */
  publish(key: { fingerprint: string; armored: string }): Promise<void>
}

export interface SignatureDeps {
  signers: Signers
  sourceKeys: SourceKeys
  clock: Clock
  newPath(): string
}

/**
 * A deb or apk needs no signature of its own: we sign the index that lists its digest. An rpm that a key of an import
 * source has signed stays as it is, and clients get that key with ours. One that no known key has signed is signed by us,
 * on a copy, so that clients with `gpgcheck=1` accept it.
 */
export function signatureStep(deps: SignatureDeps): Step {
  /** By our key or by one of an import source, which clients can then fetch. */
  async function verify(
    path: string,
    { repoFormat }: Candidate['format'],
    verifySignature: NonNullable<Candidate['format']['verifySignature']>,
  ): Promise<SignatureVerdict> {
    const byOurs = await verifySignature(path, [deps.signers.openpgp.publicKeyArmored])
    if (byOurs.outcome !== 'unknown_key' || !byOurs.keyId) return byOurs
    const key = await deps.sourceKeys.find(repoFormat, byOurs.keyId)
    if (!key) return byOurs
    const bySource = await verifySignature(path, [key.armored])
    if (bySource.outcome === 'verified') await deps.sourceKeys.publish(key)
    return bySource
  }

  async function signedCopy(candidate: Candidate, sign: NonNullable<Candidate['format']['sign']>): Promise<Candidate> {
    const path = deps.newPath()
    try {
      await sign(candidate.path, path, deps.signers, deps.clock.now())
      await fsyncPath(path)
      const staged = await measure(path)
      // Signing moves the header's offsets, which the index lists: the facts are read again.
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
        return { verdict: verdictOf('pass', 'signed', 'the signed index lists the digest of this file') }
      const { outcome, keyId } = await verify(candidate.path, format, format.verifySignature)
      const received = {
        verified: `signed by the known key ${keyId}`,
        unknown_key: `signed by the unknown key ${keyId ?? '(no key id)'}`,
        invalid: 'the signature does not match the file',
        unsigned: 'unsigned',
      }[outcome]
      const result = RESULTS[outcome]
      if (outcome === 'verified') return { verdict: verdictOf('pass', result, received) }
      if (outcome === 'invalid') return { verdict: verdictOf('refuse', result, received) }
      if (settings.validation.gpg_required)
        return { verdict: verdictOf('refuse', result, `${received}, and the settings require a known signature`) }
      if (!settings.validation.sign_packages || !format.sign)
        return { verdict: verdictOf('warn', result, `${received}; clients that check signatures refuse it`) }
      // Whoever compares digests with the vendor's has to know that the signature was replaced.
      const replaced = outcome === 'unknown_key'
      const message = replaced
        ? `received ${received}; the repository key replaces that signature, so the served file differs from the received one`
        : `received ${received}; signed with the repository key`
      return {
        candidate: await signedCopy(candidate, format.sign),
        verdict: {
          ...verdictOf(replaced ? 'warn' : 'pass', 'signed', message),
          detail: { received_sha256: candidate.receivedSha256 },
        },
      }
    },
  }
}
