// OpenPGP signatures that debsigs and dpkg-sig put into a .deb. They are described, not verified.
import type { ArMember } from '../archive/ar.ts'
import { readAll } from '../archive/entry-content.ts'
import { decompress, detectCompression } from '../archive/compression.ts'
import { readPiece } from '../archive/file-range.ts'
import { isProblem } from '../../domain/problem.ts'
import type { Member } from '../ecosystem.ts'
import type { EmbeddedSignature } from '../../domain/package.ts'

const MOST_UNPACKED_BYTES = 1024 * 1024
// RFC 9580, section 9.1
const ALGORITHMS: Readonly<Record<number, string>> = {
  1: 'RSA',
  3: 'RSA',
  17: 'DSA',
  19: 'ECDSA',
  22: 'EdDSA',
  27: 'Ed25519',
  28: 'Ed448',
}

/** One signature for each member; an unparsable one counts as a signature without a key. */
export async function readSignatures(path: string, members: readonly ArMember[]): Promise<EmbeddedSignature[]> {
  const found: EmbeddedSignature[] = []
  for (const member of members) {
    found.push(describeSignature(dearmor(await readPiece(path, member.start, member.end - member.start))))
  }
  return found
}

/** The members as scanners see them: unpacked if they are compressed, because nothing else verifies their content. */
export async function* signatureMembers(path: string, members: readonly ArMember[]): AsyncGenerator<Member> {
  for (const { name, start, end } of members) {
    const content = await unpacked(await readPiece(path, start, end - start))
    yield { name, sizeBytes: content.length, content: once(content) }
  }
}

async function unpacked(bytes: Buffer): Promise<Buffer> {
  const compression = detectCompression(bytes)
  if (compression === 'none') return bytes
  try {
    return await readAll(decompress(once(bytes), compression), MOST_UNPACKED_BYTES, 'unpacked signature')
  } catch (error) {
    // A signature may begin like compressed data by chance.
    if (isProblem(error, 'invalid_package')) return bytes
    throw error
  }
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  if (content.length > 0) yield content
}

/** The bytes of the packet, without armor; dpkg-sig's member is a cleartext-signed text. */
function dearmor(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1')
  const begin = text.indexOf('-----BEGIN PGP SIGNATURE-----')
  if (begin === -1) return bytes
  const end = text.indexOf('-----END PGP SIGNATURE-----', begin)
  const [, ...body] = text.slice(begin, end === -1 ? undefined : end).split(/\r?\n\r?\n/)
  // The checksum line begins with `=`.
  return Buffer.from(body.join('').replace(/\r?\n=.*$/s, ''), 'base64')
}

function describeSignature(packet: Buffer): EmbeddedSignature {
  const unknown = { keyId: null, algorithm: 'unknown' }
  const body = packetBody(packet)
  if (!body || body[0] !== 4 || body.length < 6) return unknown
  // version, type, key algorithm, hash algorithm, then two areas of subpackets (RFC 9580, section 5.2.3)
  const hashedLength = body.readUInt16BE(4)
  const unhashedAt = 6 + hashedLength
  const hashed = body.subarray(6, unhashedAt)
  const unhashed =
    unhashedAt + 2 <= body.length
      ? body.subarray(unhashedAt + 2, unhashedAt + 2 + body.readUInt16BE(unhashedAt))
      : Buffer.alloc(0)
  return { keyId: issuer(hashed) ?? issuer(unhashed), algorithm: ALGORITHMS[body[2]!] ?? 'unknown' }
}

/** The body of a first packet that is a signature (tag 2), old or new form of header. */
function packetBody(packet: Buffer): Buffer | null {
  const tag = packet[0] ?? 0
  if (tag >> 2 === 0b100010) {
    const sizeBytes = 1 << (tag & 3)
    return sizeBytes === 8 ? packet.subarray(1) : packet.subarray(1 + sizeBytes)
  }
  if (tag !== 0b11000010) return null
  const first = packet[1] ?? 0
  return packet.subarray(first < 192 ? 2 : first < 224 ? 3 : 6)
}

/** Subpacket 16 is the issuer's key id, 33 its fingerprint after one byte of version. */
function issuer(area: Buffer): string | null {
  for (let at = 0; at < area.length;) {
    const first = area[at]!
    const wide = first < 192 ? 1 : first < 255 ? 2 : 5
    if (at + wide >= area.length) return null
    const length =
      wide === 1 ? first : wide === 2 ? ((first - 192) << 8) + area[at + 1]! + 192 : area.readUInt32BE(at + 1)
    const content = area.subarray(at + wide, at + wide + length)
    const type = content[0]! & 0x7f
    if (type === 16 && content.length === 9) return content.toString('hex', 1).toUpperCase()
    if (type === 33 && content.length === 22) return content.toString('hex', 14).toUpperCase()
    at += wide + length
  }
  return null
}
