// Verifies the OpenPGP signatures inside an rpm with node:crypto, against given keys.
import { createHash, createPublicKey, createVerify, verify, type KeyObject, type webcrypto } from 'node:crypto'
import type { Key } from 'openpgp'
import { fileRange } from '../archive/file-range.ts'
import { isProblem } from '../../domain/problem.ts'
import { coversPayload, createPayloadDigests, HASHES } from './digests.ts'
import { readRpmHeaders, readRpmLayout, type RpmLayout } from './open.ts'
import { parseIntegers, type SignaturePacket } from './signature-packet.ts'
import { findSignatures, type FoundSignature } from './signatures.ts'

export type Verification =
  /** one of the keys signed everything in the file */
  | { outcome: 'verified'; keyId: string }
  /** signed by none of the keys, or in a way that current clients refuse (SHA-1, DSA, RSA below 2048 bits) */
  | { outcome: 'unknown_key'; keyId: string | null }
  /** a known key's signature is over other bytes, or the file contradicts its own digests */
  | { outcome: 'invalid'; keyId: string | null }
  /** no signature that covers the payload */
  | { outcome: 'unsigned' }

const ACCEPTED_HASHES: readonly number[] = [8, 9, 10, 11]

/**
 * One wrong signature by a known key makes the file invalid; otherwise one good signature is enough. As in rpm, expired keys
 * are accepted and revoked ones are not.
 * @param keys ASCII-armored public keys, one or several in each
 */
export async function verifySignature(path: string, keys: readonly string[]): Promise<Verification> {
  try {
    const layout = await readRpmLayout(path)
    const found = signaturesOfAll(layout)
    if (found.length === 0) return { outcome: 'unsigned' }
    await verifyPayload(path, layout)
    const known = await readable(keys)
    const outcomes: Verification[] = []
    for (const signature of found) outcomes.push(await verifyOne(path, layout, signature, known))
    const of = (outcome: Verification['outcome']) => outcomes.find((one) => one.outcome === outcome)
    return of('invalid') ?? of('verified') ?? outcomes[0]!
  } catch (error) {
    if (isProblem(error, 'invalid_package')) return { outcome: 'invalid', keyId: null }
    throw error
  }
}

export async function isSignedWhole(content: AsyncIterable<Uint8Array>): Promise<boolean> {
  return signaturesOfAll(await readRpmHeaders(content)).length > 0
}

/** The signatures that cover the payload too. */
function signaturesOfAll({ signature, header }: Pick<RpmLayout, 'signature' | 'header'>): FoundSignature[] {
  return findSignatures(signature).filter(({ over }) => over === 'header and payload' || coversPayload(header))
}

/** A key that cannot be parsed must not prevent the use of the others. */
async function readable(keys: readonly string[]): Promise<Key[]> {
  // Loaded only when needed: it takes a third of a reader's start (100 ms).
  const { readKeys } = await import('openpgp')
  const found = await Promise.all(keys.map((armoredKeys) => readKeys({ armoredKeys }).catch(() => [])))
  return found.flat()
}

async function verifyPayload(path: string, { signature, header, payloadStart, sizeBytes }: RpmLayout): Promise<void> {
  const digests = createPayloadDigests(signature, header)
  for await (const piece of fileRange(path, payloadStart, sizeBytes)) digests.compressed(piece)
  digests.verifyCompressed()
}

async function verifyOne(path: string, layout: RpmLayout, found: FoundSignature, known: Key[]): Promise<Verification> {
  const { packet, over } = found
  if (!packet?.keyId) return { outcome: 'unknown_key', keyId: null }
  const { keyId } = packet
  const key = await usableKey(known, packet)
  const hash = HASHES[packet.hashAlgorithm]
  if (!key || !hash || !ACCEPTED_HASHES.includes(packet.hashAlgorithm)) return { outcome: 'unknown_key', keyId }
  const good = await isGood(contentOf(path, layout, over), hash, packet, key)
  return { outcome: good ? 'verified' : 'invalid', keyId }
}

async function* contentOf(path: string, layout: RpmLayout, over: FoundSignature['over']): AsyncGenerator<Uint8Array> {
  yield layout.header.bytes
  if (over === 'header and payload') yield* fileRange(path, layout.payloadStart, layout.sizeBytes)
}

/** The key that made the signature, if it is bound to its owner, not revoked, and of a supported kind. */
async function usableKey(known: readonly Key[], packet: SignaturePacket): Promise<KeyObject | null> {
  const isSought = (key: { getKeyID(): { toHex(): string } }) => key.getKeyID().toHex().toUpperCase() === packet.keyId
  for (const key of known) {
    const part = key.getKeys().find(isSought)
    if (!part) continue
    // Checked without a date, because a key may be exported with a self-signature newer than the package.
    const signing = await key.getSigningKey(part.getKeyID(), null).catch(() => null)
    const { algorithm, publicParams } = part.keyPacket as unknown as { algorithm: number; publicParams: PublicParams }
    if (signing && kindOf(algorithm) === kindOf(packet.keyAlgorithm)) return publicKeyOf(algorithm, publicParams)
  }
  return null
}

/** 3 is an old number for RSA keys that only sign. */
const kindOf = (algorithm: number): number => (algorithm === 3 ? RSA : algorithm)

const RSA = 1
const ECDSA = 19
const EDDSA = 22
const ED25519 = 27

/** RFC 9580, section 5.5.5, with openpgp.js's names of the parts */
interface PublicParams {
  n?: Uint8Array
  e?: Uint8Array
  A?: Uint8Array
  Q?: Uint8Array
  oid?: { toHex(): string }
}

const CURVES: Readonly<Record<string, { crv: string; width: number }>> = {
  '2a8648ce3d030107': { crv: 'P-256', width: 32 },
  '2b81040022': { crv: 'P-384', width: 48 },
  '2b81040023': { crv: 'P-521', width: 66 },
}
const ED25519_OID = '2b06010401da470f01'

function publicKeyOf(algorithm: number, { n, e, A, Q, oid }: PublicParams): KeyObject | null {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
  const key = (jwk: webcrypto.JsonWebKey) => createPublicKey({ key: jwk, format: 'jwk' })
  const curve = CURVES[oid?.toHex() ?? '']
  if (kindOf(algorithm) === RSA && n && e) return key({ kty: 'RSA', n: text(n), e: text(e) })
  if (algorithm === ED25519 && A) return key({ kty: 'OKP', crv: 'Ed25519', x: text(A) })
  if (algorithm === EDDSA && oid?.toHex() === ED25519_OID && Q?.length === 33) {
    return key({ kty: 'OKP', crv: 'Ed25519', x: text(Q.subarray(1)) })
  }
  if (algorithm === ECDSA && curve && Q?.length === 1 + 2 * curve.width) {
    const [x, y] = [Q.subarray(1, 1 + curve.width), Q.subarray(1 + curve.width)]
    return key({ kty: 'EC', crv: curve.crv, x: text(x), y: text(y) })
  }
  return null
}

async function isGood(
  content: AsyncIterable<Uint8Array>,
  hash: string,
  packet: SignaturePacket,
  key: KeyObject,
): Promise<boolean> {
  const value = signatureValue(packet, key)
  if (!value) return false
  if (key.asymmetricKeyType === 'ed25519') {
    // OpenPGP signs the digest, not the content.
    const digest = createHash(hash)
    for await (const piece of content) digest.update(piece)
    return verify(null, digest.update(packet.trailer).digest(), key, value)
  }
  const verifier = createVerify(hash)
  for await (const piece of content) verifier.update(piece)
  return verifier.update(packet.trailer).verify({ key, dsaEncoding: 'ieee-p1363' }, value)
}

/** In the form that node:crypto accepts: fixed lengths instead of integers. */
function signatureValue(packet: SignaturePacket, key: KeyObject): Buffer | null {
  if (packet.keyAlgorithm === ED25519) return packet.values.length === 64 ? packet.values : null
  const isRsa = key.asymmetricKeyType === 'rsa'
  const width = isRsa
    ? Math.ceil((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8)
    : key.asymmetricKeyType === 'ed25519'
      ? 32
      : widthOf(key)
  const integers = parseIntegers(packet.values, isRsa ? 1 : 2)
  if (!integers || integers.some((integer) => integer.length > width)) return null
  return Buffer.concat(integers.map((integer) => Buffer.concat([Buffer.alloc(width - integer.length), integer])))
}

function widthOf(key: KeyObject): number {
  const { crv } = key.export({ format: 'jwk' })
  return Object.values(CURVES).find((curve) => curve.crv === crv)?.width ?? 0
}
