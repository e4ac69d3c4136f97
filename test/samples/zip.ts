// Builds zip and jar files for tests, valid or hostile, with Node alone.
import { crc32, deflateRawSync } from 'node:zlib'

export interface SampleZipEntry {
  name: string
  content: Uint8Array | string
  /** stored without compression, as Spring Boot stores nested archives */
  stored?: boolean
  /** size in both headers, if it differs from the content */
  size?: number
}

/** See APPNOTE.TXT 4.3 for the headers. */
export function buildZip(entries: readonly SampleZipEntry[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, content, stored = false, size } of entries) {
    const label = Buffer.from(name)
    const bytes = Buffer.from(content)
    const packed = stored ? bytes : deflateRawSync(bytes)
    const fixed = Buffer.alloc(26)
    fixed.writeUInt16LE(20, 0)
    fixed.writeUInt16LE(stored ? 0 : 8, 4)
    fixed.writeUInt32LE(crc32(bytes), 10)
    fixed.writeUInt32LE(packed.length, 14)
    fixed.writeUInt32LE(size ?? bytes.length, 18)
    fixed.writeUInt16LE(label.length, 22)
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), fixed, tail, label]))
    parts.push(Buffer.concat([Buffer.from('PK\x03\x04'), fixed, label, packed]))
    offset += 30 + label.length + packed.length
  }
  const index = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(Math.min(entries.length, 0xffff), 4)
  end.writeUInt16LE(Math.min(entries.length, 0xffff), 6)
  end.writeUInt32LE(index.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...parts, index, Buffer.from('PK\x05\x06'), end])
}

/** A jar in Maven's form. */
export function buildJar(
  group: string,
  artifact: string,
  version: string,
  more: readonly SampleZipEntry[] = [],
): Buffer {
  return buildZip([
    { name: 'META-INF/MANIFEST.MF', content: 'Manifest-Version: 1.0\r\n\r\n' },
    {
      name: `META-INF/maven/${group}/${artifact}/pom.properties`,
      content: `#Generated\nversion=${version}\ngroupId=${group}\nartifactId=${artifact}\n`,
    },
    ...more,
  ])
}
