// What a registry signs with its own keys: files, and statements that it took a file in. Runs inside a reader.
import { createPublicKey, verify, type KeyObject } from 'node:crypto'
import { VerificationError, type KeyFinderFunc } from '@sigstore/verify'
import type { RegistryKey } from '../../domain/provenance.ts'
import type { AttestationReading } from '../../formats/registry-format.ts'
import type { ProvenanceArgument, ProvenanceFound } from './messages.ts'

/** For statements that name one of the keys in place of a certificate. */
export function keyFinder(keys: readonly RegistryKey[]): KeyFinderFunc {
  return (hint) => {
    const known = keys.find(({ keyid }) => keyid === hint)
    const publicKey = known && keyOf(known)
    if (!publicKey)
      throw new VerificationError({ code: 'PUBLIC_KEY_ERROR', message: 'its key is none of the registry' })
    return { publicKey, validFor: (time) => known.expires === null || time.getTime() < known.expires }
  }
}

/** As clients do (`npm audit signatures`): a key counts for what was published before its end. */
export function verifySignatures(
  { signedText }: AttestationReading,
  { file, signatures, keys, publishedAt }: Pick<ProvenanceArgument, 'file' | 'signatures' | 'keys' | 'publishedAt'>,
): Omit<ProvenanceFound, 'verified'> {
  const found = { signedBy: null as string | null, faults: [] as string[], doubts: [] as string[] }
  if (!signedText || signatures.length === 0) return found
  if (keys === null)
    return { ...found, doubts: ['the keys of its registry cannot be had, so that its signature is not verified'] }
  const text = Buffer.from(signedText(file))
  for (const { keyid, sig } of signatures) {
    const known = keys.find((one) => one.keyid === keyid)
    const key = known && keyOf(known)
    if (!key) found.doubts.push(`it is signed with the key ${keyid}, which its registry does not offer`)
    else if (known.expires !== null && publishedAt !== null && publishedAt >= known.expires)
      found.faults.push(`it is signed with the key ${keyid}, which had ended before it was published`)
    else if (!verify('sha256', text, key, Buffer.from(sig, 'base64')))
      found.faults.push('the signature of its registry does not match its bytes')
    else found.signedBy ??= keyid
  }
  return found
}

/** Null for another kind of key than registries use. */
function keyOf({ key }: RegistryKey): KeyObject | null {
  try {
    const read = createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' })
    return read.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? read : null
  } catch {
    return null
  }
}
