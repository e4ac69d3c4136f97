// OpenPGP signature packets in rpm headers, versions 3 and 4: who signed, how, and what was signed. Verifies nothing.
//
// Not openpgp.js 6.3: it does not parse signatures of version 3, which CentOS, Oracle and Red Hat still make, and loading it
// takes a third of a reader's start (100 ms).

export interface SignaturePacket {
  version: 3 | 4
  keyId: string | null
  /** public-key and hash algorithms by their OpenPGP numbers */
  keyAlgorithm: number
  hashAlgorithm: number
  /** seconds since 1970 */
  createdAt: number | null
  /** bytes that are hashed after the content */
  trailer: Buffer
  /** first two bytes of the hash, to detect a mismatch quickly */
  hashStart: Buffer
  /** the algorithm's own integers, or fixed-length bytes for Ed25519 */
  values: Buffer
}

/** RFC 9580, section 9.1 */
export const KEY_ALGORITHMS: Readonly<Record<number, string>> = {
  1: 'RSA',
  3: 'RSA',
  17: 'DSA',
  19: 'ECDSA',
  22: 'EdDSA',
  27: 'Ed25519',
  28: 'Ed448',
}

/** Null for bytes that are not a signature over binary content, and for other versions. */
export function parseSignaturePacket(bytes: Buffer): SignaturePacket | null {
  try {
    const body = packetBody(bytes)
    // Rpm 4.14 signed V3 packets too, and CentOS, Oracle and Red Hat still do.
    return body?.[0] === 3 ? parseV3(body) : body?.[0] === 4 ? parseV4(body) : null
  } catch (error) {
    // The packet is truncated.
    if (error instanceof RangeError) return null
    throw error
  }
}

/** Multiprecision integers without leading zeros (RFC 9580, section 3.2). Null if they do not fill the bytes. */
export function parseIntegers(bytes: Buffer, count: number): Buffer[] | null {
  const found: Buffer[] = []
  let at = 0
  for (let index = 0; index < count; index++) {
    if (at + 2 > bytes.length) return null
    const length = Math.ceil(bytes.readUInt16BE(at) / 8)
    found.push(bytes.subarray(at + 2, at + 2 + length))
    at += 2 + length
  }
  return at === bytes.length ? found : null
}

const BINARY_DOCUMENT = 0

/** RFC 9580, section 4.2; nothing may follow the packet. */
function packetBody(bytes: Buffer): Buffer | null {
  const tag = bytes.readUInt8(0)
  let start: number
  let length: number
  if (tag >> 2 === 0b100010 && (tag & 3) !== 3) {
    const width = 1 << (tag & 3)
    start = 1 + width
    length = bytes.readUIntBE(1, width)
  } else if (tag === 0b11000010) {
    const first = bytes.readUInt8(1)
    if (first >= 224 && first < 255) return null
    start = first < 192 ? 2 : first < 255 ? 3 : 6
    length = first < 192 ? first : first < 255 ? ((first - 192) << 8) + bytes.readUInt8(2) + 192 : bytes.readUInt32BE(2)
  } else return null
  return start + length === bytes.length ? bytes.subarray(start) : null
}

/** RFC 9580, section 5.2.2 */
function parseV3(body: Buffer): SignaturePacket | null {
  if (body.readUInt8(1) !== 5 || body.readUInt8(2) !== BINARY_DOCUMENT || body.length < 20) return null
  return {
    version: 3,
    createdAt: body.readUInt32BE(3),
    keyId: body.toString('hex', 7, 15).toUpperCase(),
    keyAlgorithm: body.readUInt8(15),
    hashAlgorithm: body.readUInt8(16),
    trailer: body.subarray(2, 7),
    hashStart: body.subarray(17, 19),
    values: body.subarray(19),
  }
}

/** RFC 9580, sections 5.2.3 and 5.2.4 */
function parseV4(body: Buffer): SignaturePacket | null {
  if (body.readUInt8(1) !== BINARY_DOCUMENT) return null
  const hashedEnd = 6 + body.readUInt16BE(4)
  const unhashedEnd = hashedEnd + 2 + body.readUInt16BE(hashedEnd)
  if (unhashedEnd + 2 > body.length) return null
  const hashed = subpackets(body.subarray(6, hashedEnd))
  const unhashed = subpackets(body.subarray(hashedEnd + 2, unhashedEnd))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(hashedEnd)
  return {
    version: 4,
    createdAt: hashed.get(CREATION_TIME)?.readUInt32BE(0) ?? null,
    keyId: issuer(hashed) ?? issuer(unhashed),
    keyAlgorithm: body.readUInt8(2),
    hashAlgorithm: body.readUInt8(3),
    trailer: Buffer.concat([body.subarray(0, hashedEnd), Buffer.of(4, 0xff), length]),
    hashStart: body.subarray(unhashedEnd, unhashedEnd + 2),
    values: body.subarray(unhashedEnd + 2),
  }
}

const CREATION_TIME = 2
const ISSUER_KEY_ID = 16
const ISSUER_FINGERPRINT = 33

function issuer(area: ReadonlyMap<number, Buffer>): string | null {
  const fingerprint = area.get(ISSUER_FINGERPRINT)
  // Version 4 and 20 bytes, of which the last eight are the key id.
  if (fingerprint?.length === 21 && fingerprint[0] === 4) return fingerprint.toString('hex', 13).toUpperCase()
  const keyId = area.get(ISSUER_KEY_ID)
  return keyId?.length === 8 ? keyId.toString('hex').toUpperCase() : null
}

/** Contents by type, the first of each (RFC 9580, section 5.2.3.7). */
function subpackets(area: Buffer): Map<number, Buffer> {
  const found = new Map<number, Buffer>()
  for (let at = 0; at < area.length;) {
    const first = area.readUInt8(at)
    const width = first < 192 ? 1 : first < 255 ? 2 : 5
    const length =
      width === 1
        ? first
        : width === 2
          ? ((first - 192) << 8) + area.readUInt8(at + 1) + 192
          : area.readUInt32BE(at + 1)
    const start = at + width
    if (length === 0 || start + length > area.length) throw new RangeError('subpacket')
    const type = area.readUInt8(start) & 0x7f
    if (!found.has(type)) found.set(type, area.subarray(start + 1, start + length))
    at = start + length
  }
  return found
}
