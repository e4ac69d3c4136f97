// One gzip member (RFC 1952) made of separately compressed deflate blocks. Every apt, dnf, zypper and apk reads all of it.
import { constants, deflateRaw, inflateRawSync } from 'node:zlib'
import { promisify } from 'node:util'

const deflate = promisify<Uint8Array, import('node:zlib').ZlibOptions, Buffer>(deflateRaw)

/** magic, deflate, no flags, no time, no extra flags, unknown operating system: the same bytes everywhere */
export const GZIP_HEAD = Buffer.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff)

/** An empty final block: ends a deflate stream of blocks that each end on a byte border. */
const FINAL_BLOCK = Buffer.of(0x03, 0x00)

/** Level 6 costs 1.5-2.7 ms for 64 KiB; the file is 6 % larger than one compressed as a whole. */
export function deflateBlock(raw: Uint8Array): Promise<Buffer> {
  return deflate(raw, { level: 6, finishFlush: constants.Z_FULL_FLUSH })
}

export function inflateBlock(deflated: Uint8Array): Buffer {
  return inflateRawSync(deflated, { finishFlush: constants.Z_SYNC_FLUSH })
}

/** @param crc CRC-32 of the whole uncompressed text @param size its length in bytes */
export function gzipTail(crc: number, size: number): Buffer {
  const tail = Buffer.alloc(8)
  tail.writeUInt32LE(crc >>> 0, 0)
  tail.writeUInt32LE(size % 2 ** 32, 4)
  return Buffer.concat([FINAL_BLOCK, tail])
}

/** CRC-32 of two joined texts, from both CRCs and the length of the second: x^(8n) mod P times the first, plus the second. */
export function combineCrc(first: number, second: number, secondLength: number): number {
  return (multiply(powerOfX8(secondLength), first) ^ second) >>> 0
}

const POLYNOMIAL = 0xedb88320

/** Product of two polynomials over GF(2) modulo the polynomial of the CRC, bits reflected. */
function multiply(a: number, b: number): number {
  let product = 0
  for (let bit = 31; bit >= 0; bit--) {
    if ((a >>> bit) & 1) product ^= b
    b = b & 1 ? (b >>> 1) ^ POLYNOMIAL : b >>> 1
  }
  return product >>> 0
}

/** x^(8n) modulo the polynomial, by squaring. */
function powerOfX8(n: number): number {
  let result = 0x80000000
  let base = 0x00800000
  while (n > 0) {
    if (n & 1) result = multiply(base, result)
    base = multiply(base, base)
    n = Math.floor(n / 2)
  }
  return result
}
