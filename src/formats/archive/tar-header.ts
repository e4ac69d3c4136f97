// One 512-byte tar header (POSIX.1-2017, pax, "ustar Interchange Format", and GNU's extensions).
import { invalid } from './limits.ts'

export const BLOCK_BYTES = 512

export type TarType =
  'file' | 'hard-link' | 'symbolic-link' | 'character-device' | 'block-device' | 'directory' | 'fifo'
type DescribingType = 'gnu-long-name' | 'gnu-long-link' | 'pax' | 'pax-global'

const TYPES: Readonly<Record<string, TarType | DescribingType>> = {
  '\0': 'file',
  '0': 'file',
  '1': 'hard-link',
  '2': 'symbolic-link',
  '3': 'character-device',
  '4': 'block-device',
  '5': 'directory',
  '6': 'fifo',
  // "contiguous": every current reader treats it as a regular file
  '7': 'file',
  L: 'gnu-long-name',
  K: 'gnu-long-link',
  x: 'pax',
  g: 'pax-global',
}

export interface TarHeader {
  name: string
  linkName: string
  type: TarType | DescribingType
  sizeBytes: number
  mode: number
}

/** @returns null for a block of zeros, which ends the archive. @throws Problem('invalid_package') */
export function parseTarHeader(block: Uint8Array): TarHeader | null {
  if (block.length < BLOCK_BYTES) throw invalid('the tar archive is truncated')
  if (block[0] === 0 && block.every((byte) => byte === 0)) return null
  if (!checksumFits(block)) throw invalid('the tar archive is damaged')
  const flag = String.fromCharCode(block[156]!)
  if (flag === 'S') throw invalid('the tar archive holds a sparse file')
  const type = TYPES[flag]
  if (!type) throw invalid('the tar archive holds an entry of an unknown kind')
  // "ustar\0" has a prefix field; GNU's "ustar  " keeps times in its place.
  const prefix = text(block, 257, 6, false) === 'ustar\0' ? text(block, 345, 155) : ''
  const name = text(block, 0, 100)
  return {
    name: prefix ? `${prefix}/${name}` : name,
    linkName: type === 'hard-link' || type === 'symbolic-link' ? text(block, 157, 100) : '',
    type,
    sizeBytes: number(block, 124, 12),
    mode: number(block, 100, 8) & 0o7777,
  }
}

/** Whether a tar archive begins with this block. Archives older than ustar have no magic, only a checksum. */
export function isTarHeader(block: Uint8Array): boolean {
  // Octal digits, perhaps after spaces.
  const digits = block.length >= BLOCK_BYTES && block[148]! < 0x38
  try {
    return digits && checksumFits(block)
  } catch {
    return false
  }
}

/** The sum of all bytes, with spaces in place of the checksum; some old writers summed signed bytes. */
function checksumFits(block: Uint8Array): boolean {
  let sum = 8 * 0x20
  let negative = 0
  for (let at = 0; at < 148; at++) {
    sum += block[at]!
    negative += block[at]! >> 7
  }
  for (let at = 156; at < BLOCK_BYTES; at++) {
    sum += block[at]!
    negative += block[at]! >> 7
  }
  const written = number(block, 148, 8)
  return written === sum || written === sum - 256 * negative
}

/** Octal digits, or GNU's base 256 for large numbers; never negative, never beyond what JavaScript counts exactly. */
function number(block: Uint8Array, at: number, length: number): number {
  if (block[at]! & 0x80) {
    let value = BigInt(block[at]! & 0x7f)
    for (let n = 1; n < length; n++) value = (value << 8n) | BigInt(block[at + n]!)
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw invalid('the tar archive gives an impossible size')
    return Number(value)
  }
  return octal(block, at, at + length) ?? fromText(text(block, at, length))
}

/** Digits from the first byte to a space, NUL or the end, as nearly all writers put them; null for any other field. */
function octal(block: Uint8Array, start: number, end: number): number | null {
  let value = 0
  for (let at = start; at < end; at++) {
    const byte = block[at]!
    if (byte === 0 || (byte === 0x20 && at === end - 1)) return value
    if (byte < 0x30 || byte > 0x37) return null
    value = value * 8 + byte - 0x30
  }
  return value
}

function fromText(field: string): number {
  const digits = field.trim()
  if (!/^[0-7]*$/.test(digits)) throw invalid('the tar archive is damaged')
  return digits === '' ? 0 : parseInt(digits, 8)
}

function text(block: Uint8Array, at: number, length: number, cut = true): string {
  const field = block.subarray(at, at + length)
  const end = cut ? field.indexOf(0) : -1
  return decodeText(end === -1 ? field : field.subarray(0, end))
}

export function decodeText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
}
