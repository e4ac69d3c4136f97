// Writes tar entries and gzip members for the index, the same on every machine.
import { crc32, deflateRawSync } from 'node:zlib'

export const BLOCK_BYTES = 512

/** Two blocks of zeros. */
export const TAR_END = new Uint8Array(2 * BLOCK_BYTES)

/** The header of a regular file, owned by root, without a time (POSIX.1-2017, pax, "ustar Interchange Format"). */
export function tarHeader(name: string, sizeBytes: number): Uint8Array {
  const header = Buffer.alloc(BLOCK_BYTES)
  if (Buffer.byteLength(name) > 100 || sizeBytes >= 8 ** 11) throw new Error(`no ustar header can hold ${name}`)
  const octal = (value: number, at: number, length: number) =>
    header.write(value.toString(8).padStart(length - 1, '0'), at, 'latin1')
  header.write(name, 0)
  octal(0o644, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(sizeBytes, 124, 12)
  octal(0, 136, 12)
  header.write('        0', 148, 'latin1')
  header.write('ustar\x0000root', 257, 'latin1')
  header.write('root', 297, 'latin1')
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0`, 148, 'latin1')
  return header
}

/** The zeros after content of `sizeBytes`. */
export function tarPadding(sizeBytes: number): Uint8Array {
  return new Uint8Array((BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES)
}

export function tarFile(name: string, content: Uint8Array): Uint8Array {
  return Buffer.concat([tarHeader(name, content.length), content, tarPadding(content.length)])
}

/** RFC 1952; unlike `zlib.gzipSync`, it does not name the operating system. */
export function gzipMember(content: Uint8Array): Uint8Array {
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(crc32(content), 0)
  trailer.writeUInt32LE(content.length % 2 ** 32, 4)
  const head = Buffer.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff)
  return Buffer.concat([head, deflateRawSync(content), trailer])
}
