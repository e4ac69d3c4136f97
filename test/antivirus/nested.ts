// The EICAR test file in containers that clamd does not open, and containers that neither clamd nor the engine opens.
import { crc32, gzipSync } from 'node:zlib'
import { eicar } from '../fakes/clamd.ts'
import { buildAr } from '../samples/ar.ts'
import { compressSample, zstdFrame } from '../samples/compress.ts'
import { buildDeb } from '../samples/deb.ts'
import { buildRpm } from '../samples/rpm.ts'
import { buildTar } from '../samples/tar.ts'
import { buildZip } from '../samples/zip.ts'

/** Uses blocks shorter than any signature, so that no signature matches the compressed bytes. */
const zstd = (content: Uint8Array) => zstdFrame(content, 7)
const tar = (content: Uint8Array) => buildTar([{ name: 'opt/eicar.com', content }])

/** Containers with the test file in a form that no signature matches, and the path of the file that the engine extracts. */
export async function hidden(): Promise<[title: string, file: string, content: Buffer, found: string][]> {
  const file = eicar()
  const deb = await buildDeb({ files: { 'opt/eicar.com': file } })
  const rpm = await buildRpm({ files: [{ path: '/opt/eicar.com', content: file }] })
  const lzma = await compressSample(file, 'lzma')
  return [
    ['a zstd file', 'a.zst', zstd(file), 'a.zst!/a'],
    ['a tar.zst', 'a.tar.zst', zstd(tar(file)), 'a.tar.zst!/a.tar'],
    ['a deb', 'a.deb', deb, 'a.deb!/data.tar.gz'],
    ['an rpm', 'a.rpm', rpm, 'a.rpm!/payload'],
    ['an ar archive', 'a.a', buildAr([{ name: 'a.gz', content: gzipSync(file) }]), 'a.a!/a.gz'],
    ['a .lzma file', 'a.lzma', lzma, 'a.lzma!/a'],
    ['a zip with an LZMA entry', 'a.zip', zipEntry(14, zipLzma(lzma), file), 'a.zip!/entry'],
    ['a zip with a zstd entry', 'a.zip', zipEntry(93, zstd(file), file), 'a.zip!/entry'],
    ['a zip with an xz entry', 'a.zip', zipEntry(95, await compressSample(file, 'xz'), file), 'a.zip!/entry'],
    ['a tar.zst in a gzip', 'a.gz', gzipSync(zstd(tar(file))), 'a.gz!/a!/a'],
    ['a deb in a zip', 'a.zip', buildZip([{ name: 'b.deb', content: deb }]), 'a.zip!/b.deb!/data.tar.gz'],
    [
      'a zstd file in a tar in an xz',
      'a.txz',
      await compressSample(tar(zstd(file)), 'xz'),
      'a.txz!/a.tar!/opt/eicar.com!/eicar.com',
    ],
    [
      'a zip in an rpm',
      'a.rpm',
      await buildRpm({ files: [{ path: '/opt/a.zip', content: buildZip([{ name: 'e', content: file }]) }] }),
      'a.rpm!/payload',
    ],
  ]
}

/** Containers that are reported as not scanned: title, content, part of the reason. */
export async function unopened(): Promise<[title: string, content: Buffer, reason: string][]> {
  const magic = (hex: string) => Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(200, 1)])
  const zip = buildZip([{ name: 'e', content: 'x'.repeat(5000) }])
  return [
    ['an encrypted zip', encrypted(zip), 'is encrypted'],
    ['an encrypted zip in a zip', buildZip([{ name: 'inner.zip', content: encrypted(zip) }]), 'is encrypted'],
    ['a zip with an entry of an unknown method', zipEntry(98, Buffer.from('ppmd'), Buffer.from('x')), 'unknown way'],
    ['a zip cut short', zip.subarray(0, zip.length - 30), 'cannot be opened'],
    ['a 7-Zip archive', magic('377abcaf271c0004'), '7-Zip'],
    ['a RAR archive', magic('526172211a070100'), 'RAR'],
    ['an lz4 file', magic('04224d18'), 'lz4'],
    ['an lzip file', magic('4c5a495001'), 'lzip'],
    ['a compress file', magic('1f9d90'), 'compress'],
    ['a squashfs image', magic('68737173'), 'squashfs'],
    ['a damaged zstd file', zstdFrame(Buffer.alloc(100, 1), 7).subarray(0, 60), 'cannot be opened'],
    ['a damaged rpm', (await buildRpm({})).subarray(0, 300), 'cannot be opened'],
    ['an lz4 file in a tar.gz', gzipSync(tar(magic('04224d18'))), 'lz4'],
    ['a zip nested too deep', nest(25, (content) => buildZip([{ name: 'z', content }])), 'nested more than'],
    ['a gzip nested too deep', nest(25, (content) => gzipSync(content)), 'nested more than'],
  ]
}

export function nest(levels: number, wrap: (content: Buffer) => Buffer): Buffer {
  let content: Buffer = eicar()
  for (let level = 0; level < levels; level++) content = wrap(content)
  return content
}

/** The same zip with the encryption bit of every header set. */
function encrypted(zip: Buffer): Buffer {
  const bytes = Buffer.from(zip)
  for (const [magic, flags] of [
    ['PK\x03\x04', 6],
    ['PK\x01\x02', 8],
  ] as const)
    for (let at = bytes.indexOf(magic); at >= 0; at = bytes.indexOf(magic, at + 4)) bytes[at + flags]! |= 1
  return bytes
}

/** APPNOTE.TXT 5.8.8: version and length of the properties, the properties, the stream. */
function zipLzma(alone: Buffer): Buffer {
  return Buffer.concat([Buffer.from([9, 20, 5, 0]), alone.subarray(0, 5), alone.subarray(13)])
}

/** A zip of one entry with given compressed bytes. Our LZMA streams end with a marker (flag bit 1). */
function zipEntry(method: number, packed: Buffer, content: Buffer): Buffer {
  const zip = buildZip([{ name: 'entry', content }])
  const [local, central] = [0, zip.indexOf('PK\x01\x02')]
  const before = Buffer.from(zip.subarray(local, 35))
  const directory = Buffer.from(zip.subarray(central))
  for (const [bytes, at] of [
    [before, 4],
    [directory, 6],
  ] as const) {
    bytes.writeUInt16LE(method === 14 ? 2 : 0, at + 2)
    bytes.writeUInt16LE(method, at + 4)
    bytes.writeUInt32LE(crc32(content), at + 10)
    bytes.writeUInt32LE(packed.length, at + 14)
  }
  const end = directory.indexOf('PK\x05\x06')
  directory.writeUInt32LE(before.length + packed.length, end + 16)
  return Buffer.concat([before, packed, directory])
}
