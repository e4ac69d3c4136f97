// Builds zip archives for tests, on request with 64-bit sizes.
import { crc32, deflateRawSync } from 'node:zlib'

/** @param options `zip64` writes every size as a 64-bit one */
export function zip(
  files: readonly (readonly [name: string, content: Buffer])[],
  options: { zip64?: boolean; stored?: boolean } = {},
): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, content] of files) {
    const packed = options.stored ? content : deflateRawSync(content)
    const common = Buffer.alloc(22)
    common.writeUInt16LE(options.stored ? 0 : 8, 4)
    common.writeUInt32LE(crc32(content), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(content.length, 18)
    const local = Buffer.concat([
      Buffer.from('PK\x03\x04'),
      common,
      u16(name.length),
      u16(0),
      Buffer.from(name),
      packed,
    ])
    const extra = options.zip64
      ? Buffer.concat([u16(1), u16(24), u64(content.length), u64(packed.length), u64(offset)])
      : Buffer.alloc(0)
    if (options.zip64) common.fill(0xff, 14, 22)
    directory.push(
      Buffer.concat([
        Buffer.from('PK\x01\x02'),
        u16(45),
        common,
        u16(name.length),
        u16(extra.length),
        Buffer.alloc(10),
        options.zip64 ? Buffer.alloc(4, 0xff) : u32(offset),
        Buffer.from(name),
        extra,
      ]),
    )
    parts.push(local)
    offset += local.length
  }
  const index = Buffer.concat(directory)
  const wide = Buffer.concat([
    Buffer.from('PK\x06\x06'),
    u64(44),
    Buffer.alloc(12),
    u64(files.length),
    u64(files.length),
    u64(index.length),
    u64(offset),
    Buffer.from('PK\x06\x07'),
    u32(0),
    u64(offset + index.length),
    u32(1),
  ])
  const end = options.zip64
    ? Buffer.concat([wide, Buffer.from('PK\x05\x06'), u32(0), Buffer.alloc(12, 0xff), u16(0)])
    : Buffer.concat([
        Buffer.from('PK\x05\x06'),
        u32(0),
        u16(files.length),
        u16(files.length),
        u32(index.length),
        u32(offset),
        u16(0),
      ])
  return Buffer.concat([...parts, index, end])
}

function u16(value: number): Buffer {
  const buffer = Buffer.alloc(2)
  buffer.writeUInt16LE(value)
  return buffer
}
function u32(value: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeUInt32LE(value)
  return buffer
}
function u64(value: number): Buffer {
  const buffer = Buffer.alloc(8)
  buffer.writeBigUInt64LE(BigInt(value))
  return buffer
}
