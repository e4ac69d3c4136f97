// OpenPGP signatures inside an rpm: who claims to have signed what, without verification.
import type { EmbeddedSignature } from '../../domain/package.ts'
import type { Header } from './header.ts'
import { KEY_ALGORITHMS, parseSignaturePacket, type SignaturePacket } from './signature-packet.ts'
import { SIGNATURE_TAG } from './tags.ts'

export interface FoundSignature {
  /** what was signed: the main header, or the main header and the payload after it */
  over: 'header' | 'header and payload'
  /** null if it cannot be read */
  packet: SignaturePacket | null
}

const MOST_OPENPGP = 16
const TAGS = [
  [SIGNATURE_TAG.RSA, 'header'],
  [SIGNATURE_TAG.DSA, 'header'],
  [SIGNATURE_TAG.PGP, 'header and payload'],
  [SIGNATURE_TAG.GPG, 'header and payload'],
] as const

/** Signatures over the header first. */
export function findSignatures(signature: Header): FoundSignature[] {
  const found: FoundSignature[] = []
  for (const text of signature.texts(SIGNATURE_TAG.OPENPGP, MOST_OPENPGP)) {
    found.push({ over: 'header', packet: parseSignaturePacket(Buffer.from(text, 'base64')) })
  }
  for (const [tag, over] of TAGS) {
    const bytes = signature.data(tag)
    if (bytes) found.push({ over, packet: parseSignaturePacket(bytes) })
  }
  return found
}

/** Each key and algorithm once: rpm up to 4.13 signed both ways with the same key. */
export function readSignatures(signature: Header): EmbeddedSignature[] {
  const described = findSignatures(signature).map(({ packet }) => ({
    keyId: packet?.keyId ?? null,
    algorithm: (packet && KEY_ALGORITHMS[packet.keyAlgorithm]) ?? 'unknown',
  }))
  return [...new Map(described.map((one) => [`${one.keyId} ${one.algorithm}`, one])).values()]
}
