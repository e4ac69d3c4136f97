// Compresses sample data in every format that packages use, with Node alone.
import { crc32, gzipSync } from 'node:zlib'
import lzma from 'lzma-native'

export type SampleCompression = 'gz' | 'xz' | 'lzma' | 'zst' | 'none'

export async function compressSample(data: Uint8Array, kind: SampleCompression): Promise<Buffer> {
  switch (kind) {
    case 'none':
      return Buffer.from(data)
    case 'gz':
      return gzipSync(data)
    case 'zst':
      return zstdFrame(data)
    case 'xz':
      return through(lzma.createStream('easyEncoder', { preset: 1 }), data)
    case 'lzma':
      return through(lzma.createStream('aloneEncoder', { preset: 1 }), data)
  }
}

async function through(encoder: NodeJS.ReadWriteStream, data: Uint8Array): Promise<Buffer> {
  const parts: Buffer[] = []
  encoder.end(Buffer.from(data))
  for await (const part of encoder) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

/** A zstd frame of raw blocks of at most `most` bytes, with content size and without checksum (RFC 8878, section 3.1.1). */
export function zstdFrame(data: Uint8Array, most = 128 * 1024): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32LE(0xfd2fb528, 0)
  // frame content size in 8 bytes, single segment
  header[4] = 0b1110_0000
  header.writeBigUInt64LE(BigInt(data.length), 5)
  const parts: Uint8Array[] = [header]
  for (let at = 0; at === 0 || at < data.length; at += most) {
    const piece = data.subarray(at, at + most)
    const last = at + most >= data.length ? 1 : 0
    const head = Buffer.alloc(3)
    head.writeUIntLE((piece.length << 3) | last, 0, 3)
    parts.push(head, piece)
  }
  return Buffer.concat(parts)
}

/** A zstd frame of `blocks` blocks of 4 bytes, each of which expands to 128 KiB of one byte. */
export function zstdRepeated(byte: number, blocks: number): Buffer {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38])
  const body = Buffer.alloc(blocks * 4)
  for (let n = 0; n < blocks; n++) {
    body.writeUIntLE(((128 * 1024) << 3) | (1 << 1) | (n === blocks - 1 ? 1 : 0), n * 4, 3)
    body[n * 4 + 3] = byte
  }
  return Buffer.concat([head, body])
}

/** An xz stream of stored chunks, without a check (xz-file-format 1.1.0; LZMA2 control bytes 1 and 2). */
export function xzStored(data: Uint8Array): Buffer {
  const chunks: Uint8Array[] = []
  for (let at = 0; at < data.length; at += 65536) {
    const piece = data.subarray(at, at + 65536)
    const head = Buffer.from([at === 0 ? 1 : 2, 0, 0])
    head.writeUInt16BE(piece.length - 1, 1)
    chunks.push(head, piece)
  }
  const flags = Buffer.from([0, 0])
  const blockHeader = withCrc(Buffer.from([2, 0, 0x21, 1, 0x10, 0, 0, 0]))
  const body = Buffer.concat([...chunks, Buffer.from([0])])
  const index = withCrc(
    padded(Buffer.from([0, 1, ...variableLength(blockHeader.length + body.length), ...variableLength(data.length)])),
  )
  const footer = Buffer.concat([Buffer.alloc(4), flags])
  footer.writeUInt32LE(index.length / 4 - 1, 0)
  const footerCrc = withCrc(footer).subarray(-4)
  const magic = Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00])
  return Buffer.concat([magic, withCrc(flags), blockHeader, padded(body), index, footerCrc, footer, Buffer.from('YZ')])
}

function withCrc(bytes: Buffer): Buffer {
  const crc = Buffer.alloc(4)
  crc.writeUInt32LE(crc32(bytes), 0)
  return Buffer.concat([bytes, crc])
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)])
}

function variableLength(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...variableLength(Math.floor(value / 128))]
}
