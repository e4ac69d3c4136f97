// OpenPGP v4 signature packets and armor with node:crypto's RSA, for the signature that every publish waits for.
//
// openpgp.js 6.3 signs with all other keys. For a clearsigned Release it takes 1.4 times the processor time (11 ms, ours 7.5),
// 1.3 to 2 times as long, and nearly twice the time of the event loop (12 ms, ours 6.5; Node 26); for 315 MB of an rpm it
// takes 3.0 s, ours 1.6.
import { constants, createHash, privateEncrypt, sign, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

const signAsync = promisify<string, Uint8Array, KeyObject, Buffer>(sign)
/** The prefix of a SHA-512 digest that RSA signs (RFC 8017, section 9.2, note 1). */
const SHA512_INFO = Buffer.from('3051300d060960864801650304020305000440', 'hex')

export const SIGNATURE_BINARY = 0x00
export const SIGNATURE_TEXT = 0x01

const RSA = 1
const SHA512 = 10

/**
 * One version 4 signature packet over `content` (RFC 9580, section 5.2.3).
 * @param type 0x00 for a binary document, 0x01 for canonical text
 * @param fingerprint 20 bytes of the v4 key
 */
export async function signaturePacket(
  key: KeyObject,
  fingerprint: Uint8Array,
  type: number,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  at: Date,
): Promise<Uint8Array> {
  const created = Buffer.alloc(4)
  created.writeUInt32BE(Math.floor(at.getTime() / 1000))
  const hashedArea = Buffer.concat([subpacket(2, created), subpacket(33, Buffer.concat([Buffer.of(4), fingerprint]))])
  const head = Buffer.concat([Buffer.of(4, type, RSA, SHA512), uint16(hashedArea.length), hashedArea])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(head.length)
  const trailer = Buffer.concat([head, Buffer.of(4, 0xff), length])
  const { digest, signature } = await (content instanceof Uint8Array
    ? signBytes(key, Buffer.concat([content, trailer]))
    : signPieces(key, content, trailer))
  const unhashedArea = subpacket(16, fingerprint.subarray(12))
  const body = Buffer.concat([
    head,
    uint16(unhashedArea.length),
    unhashedArea,
    digest.subarray(0, 2),
    integer(signature),
  ])
  // Old packet format with a two-byte length (section 4.2.2): rpm before 4.15 cannot read the new format here.
  return Buffer.concat([Buffer.of(0x89), uint16(body.length), body])
}

interface Signed {
  digest: Buffer
  signature: Buffer
}

async function signBytes(key: KeyObject, signed: Uint8Array): Promise<Signed> {
  const signature = await signAsync('RSA-SHA512', signed, key)
  return { digest: createHash('sha512').update(signed).digest(), signature }
}

/** Signs content of any length, with one piece in memory at a time. The signature takes 5 ms of the main thread. */
async function signPieces(key: KeyObject, content: AsyncIterable<Uint8Array>, trailer: Uint8Array): Promise<Signed> {
  const hash = createHash('sha512')
  for await (const piece of content) hash.update(piece)
  const digest = hash.update(trailer).digest()
  const padding = constants.RSA_PKCS1_PADDING
  return { digest, signature: privateEncrypt({ key, padding }, Buffer.concat([SHA512_INFO, digest])) }
}

function subpacket(type: number, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(body.length + 1, type), body])
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

/** Multiprecision integer, section 3.2: its length in bits, then its bytes without leading zeros. */
function integer(value: Buffer): Buffer {
  let start = 0
  while (start < value.length - 1 && value[start] === 0) start++
  const bytes = value.subarray(start)
  const bits = bytes.length * 8 - Math.clz32(bytes[0] as number) + 24
  return Buffer.concat([uint16(bits), bytes])
}

/** ASCII armor, section 6.2, with the CRC-24 that older readers require. */
export function armor(kind: 'SIGNATURE', packet: Uint8Array): string {
  const body = Buffer.from(packet).toString('base64').replace(/.{64}/g, '$&\n').trimEnd()
  return `-----BEGIN PGP ${kind}-----\n\n${body}\n=${crc24(packet)}\n-----END PGP ${kind}-----\n`
}

/** Section 6.1. */
function crc24(data: Uint8Array): string {
  let crc = 0xb704ce
  for (const byte of data) {
    crc ^= byte << 16
    for (let bit = 0; bit < 8; bit++) {
      crc <<= 1
      if (crc & 0x1000000) crc ^= 0x1864cfb
    }
  }
  return Buffer.of((crc >> 16) & 0xff, (crc >> 8) & 0xff, crc & 0xff).toString('base64')
}

/** The signed form and the shown form of a text (section 7): trailing blanks cut, CRLF, dashes escaped. */
export function cleartext(text: string): { signed: Buffer; shown: string } {
  const lines = text
    .replace(/\r?\n$/, '')
    .split(/\r?\n/)
    .map((line) => line.replace(/[ \t]+$/, ''))
  return {
    signed: Buffer.from(lines.join('\r\n')),
    shown: lines.map((line) => (line.startsWith('-') ? `- ${line}` : line)).join('\n'),
  }
}
