// The signature step: whose signature clients will check when they install the file.
import type { Clock } from '../kernel/clock.ts'
import { measure } from '../kernel/digests.ts'
import { fsyncPath, removeFile } from '../kernel/files.ts'
import type { SignatureVerdict, Signers } from '../formats/intake-format.ts'
import type { PipelineResult } from '../domain/status.ts'
import type { Candidate, Step, StepResult } from './step.ts'

const RESULTS: Record<SignatureVerdict['outcome'], PipelineResult> = {
  verified: 'signed',
  unknown_key: 'unverified',
  invalid: 'invalid',
  unsigned: 'unsigned',
}

interface VendorKey {
  fingerprint: string
  armored: string
}

/** The keys of import sources. */
export interface SourceKeys {
  /** @param type the format's name in REPO_FORMAT */
  find(type: string, keyId: string): Promise<VendorKey | null>
  /** Resolves when clients can fetch the key. */
  publish(key: VendorKey): Promise<void>
}

export interface SignatureDeps {
  signers: Signers
  sourceKeys: SourceKeys
  clock: Clock
  newPath(): string
}

/**
 * A copy of a file with our signature, flushed, in staging. Its owner removes it.
 * @param file of a format that has signatures
 */
export async function signedCopy(
  { signers, clock, newPath }: Pick<SignatureDeps, 'signers' | 'clock' | 'newPath'>,
  { path: from, format }: Pick<Candidate, 'path' | 'format'>,
): Promise<Pick<Candidate, 'path' | 'digests' | 'sizeBytes' | 'facts'>> {
  const path = newPath()
  try {
    await format.sign!(from, path, signers, clock.now())
    await fsyncPath(path)
    const staged = await measure(path)
    // Signing moves the header's offsets, which the index lists: the facts are read again.
    return { ...staged, facts: await format.read(path) }
  } catch (error) {
    await removeFile(path)
    throw error
  }
}

/**
 * A deb or apk needs no signature of its own: we sign the index that lists its digest. An rpm that does not carry our
 * signature is signed by us, on a copy, so that clients with `gpgcheck=1` accept it. With `keep_vendor_signatures`, an rpm
 * that a key of an import source has signed stays as it is, and clients get that key with ours.
 *
 * That is not the default, because clients take any key they have for the index too: libdnf checks repomd.xml with all of
 * `gpgkey=`, and zypper with all keys of the rpm database. Whoever has the vendor's key could then sign another index.
 */
export function signatureStep(deps: SignatureDeps): Step {
  /** By our key or by one of an import source. */
  async function verify(
    path: string,
    { repoFormat }: Candidate['format'],
    verifySignature: NonNullable<Candidate['format']['verifySignature']>,
  ): Promise<SignatureVerdict & { vendor: VendorKey | null }> {
    const byOurs = { ...(await verifySignature(path, [deps.signers.openpgp.publicKeyArmored])), vendor: null }
    if (byOurs.outcome !== 'unknown_key' || !byOurs.keyId) return byOurs
    const key = await deps.sourceKeys.find(repoFormat, byOurs.keyId)
    if (!key) return byOurs
    return { ...(await verifySignature(path, [key.armored])), vendor: key }
  }

  return {
    key: 'gpg',
    label: 'Signature',
    async run(candidate, settings): Promise<StepResult> {
      const { format } = candidate
      if (format.isLibrary)
        return { seen: { result: 'skipped', message: 'clients compare the digest in the listing; nothing is signed' } }
      if (!format.verifySignature)
        return { seen: { result: 'signed', message: 'the signed index lists the digest of this file' } }
      const { outcome, keyId, vendor } = await verify(candidate.path, format, format.verifySignature)
      const { keep_vendor_signatures: isKept, gpg_required: isRequired, sign_packages: isSigning } = settings.validation
      const received = {
        verified: `signed by the known key ${keyId}`,
        unknown_key: `signed by the unknown key ${keyId ?? '(no key id)'}`,
        invalid: 'the signature does not match the file',
        unsigned: 'unsigned',
      }[outcome]
      const result = RESULTS[outcome]
      if (outcome === 'verified' && vendor && isKept) await deps.sourceKeys.publish(vendor)
      if (outcome === 'verified' && (!vendor || isKept)) return { seen: { result, message: received } }
      // Our signature must not hide a refused one.
      if (outcome === 'invalid' || (isRequired && outcome !== 'verified'))
        return { seen: { result, message: received } }
      if (!isSigning || !format.sign) {
        const refusing = outcome === 'verified' ? 'that do not have that key' : 'that check signatures'
        return { seen: { result, message: `${received}; clients ${refusing} refuse it`, concern: true } }
      }
      // People who compare digests with the vendor's must know that the signature was replaced.
      const replaced = outcome !== 'unsigned'
      const message = replaced
        ? `received ${received}; the repository key replaces that signature, so the served file differs from the received one`
        : `received ${received}; signed with the repository key`
      return {
        candidate: { ...candidate, ...(await signedCopy(deps, candidate)) },
        seen: {
          ...{ result: 'signed', received: result, message, concern: outcome === 'unknown_key' },
          detail: { received_sha256: candidate.receivedSha256 },
        },
      }
    },
  }
}
