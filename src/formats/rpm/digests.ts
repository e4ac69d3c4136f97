// Verifies the digests of header and payload in an rpm.
import { createHash, type Hash } from 'node:crypto'
import { invalid } from '../archive/limits.ts'
import type { Header } from './header.ts'
import { SIGNATURE_TAG, TAG } from './tags.ts'

/** Hash algorithms by their OpenPGP number (RFC 9580, section 9.5), as header tags name them too. */
export const HASHES: Readonly<Record<number, string>> = {
  1: 'md5',
  2: 'sha1',
  8: 'sha256',
  9: 'sha384',
  10: 'sha512',
  11: 'sha224',
}
const SHA256 = 8
// More than one only if rpm ever writes one for each algorithm.
const MOST_DIGESTS = 16

/** @throws Problem('invalid_package') */
export function verifyHeaderDigests(signature: Header, header: Header): void {
  for (const [tag, algorithm] of [
    [SIGNATURE_TAG.SHA3_256, 'sha3-256'],
    [SIGNATURE_TAG.SHA256, 'sha256'],
    [SIGNATURE_TAG.SHA1, 'sha1'],
  ] as const) {
    const wanted = signature.text(tag)
    if (wanted === null) continue
    const found = createHash(algorithm).update(header.bytes).digest('hex')
    if (found !== wanted.toLowerCase()) throw invalid('the rpm header does not have the digest the package states')
  }
}

/** Receives the payload, compressed and plain. */
export interface PayloadDigests {
  compressed(piece: Uint8Array): void
  plain(piece: Uint8Array): void
  /** After all compressed bytes. @throws Problem('invalid_package') if a digest or the size differs from the stated one */
  verifyCompressed(): void
  /** After all plain bytes. @throws as `verifyCompressed` */
  verifyPlain(): void
}

/** Whether the header states the payload's digest, so that a signature of the header covers everything. */
export function coversPayload(header: Header): boolean {
  return header.has(TAG.PAYLOADDIGEST)
}

export function createPayloadDigests(signature: Header, header: Header): PayloadDigests {
  const algorithm = HASHES[header.number(TAG.PAYLOADDIGESTALGO) ?? SHA256]
  const wantedCompressed = header.texts(TAG.PAYLOADDIGEST, MOST_DIGESTS)[0]
  const wantedPlain = header.texts(TAG.PAYLOADDIGESTALT, MOST_DIGESTS)[0]
  if (!algorithm && (wantedCompressed || wantedPlain)) throw invalid('the rpm payload has a digest of an unknown kind')
  const hashOf = (wanted: string | undefined): Hash | null => (wanted && algorithm ? createHash(algorithm) : null)
  const compressed = hashOf(wantedCompressed)
  const plain = hashOf(wantedPlain)
  const wantedMd5 = signature.data(SIGNATURE_TAG.MD5)
  const md5 = wantedMd5 ? createHash('md5').update(header.bytes) : null
  const wantedSize = signature.number(SIGNATURE_TAG.LONGSIZE) ?? signature.number(SIGNATURE_TAG.SIZE)
  let size = header.bytes.length
  return {
    compressed(piece) {
      size += piece.length
      compressed?.update(piece)
      md5?.update(piece)
    },
    plain: (piece) => void plain?.update(piece),
    verifyCompressed() {
      if (wantedSize !== null && wantedSize !== size) throw invalid('the rpm package is not of the size it states')
      if (compressed && compressed.digest('hex') !== wantedCompressed?.toLowerCase()) throw wrong()
      if (md5 && wantedMd5 && !md5.digest().equals(wantedMd5)) throw wrong()
    },
    verifyPlain() {
      if (plain && plain.digest('hex') !== wantedPlain?.toLowerCase()) throw wrong()
    },
  }
}

const wrong = () => invalid('the rpm payload does not have the digest the package states')
