// The packages to damage, and their inner parts, which compression and digests would protect. A new format adds a line.
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { assembleApk, buildApk, pkginfoText, withDirectories } from '../samples/apk.ts'
import { compressSample, type SampleCompression } from '../samples/compress.ts'
import { buildCpio } from '../samples/cpio.ts'
import { assembleDeb, buildDeb, controlText } from '../samples/deb.ts'
import { assembleRpm, bin, buildRpm, int32, renderHeader, string } from '../samples/rpm.ts'
import { buildTar } from '../samples/tar.ts'

export type Mutate = (bytes: Buffer) => Buffer

export interface Subject {
  name: string
  /** Makes a package with one part damaged; it is valid when `mutate` changes nothing. */
  make(mutate: Mutate): Promise<Buffer>
}

const COMPRESSIONS: SampleCompression[] = ['gz', 'xz', 'zst', 'none']
const FILES = {
  'usr/bin/sample': '#!/bin/sh\necho sample\n',
  'usr/share/doc/sample/changelog': 'sample (1.0-1) unstable; urgency=low\n'.repeat(40),
  [`usr/share/${'long/'.repeat(30)}name`]: 'x',
}
const CONTROL = controlText({
  fields: {
    Depends: 'libc6 (>= 2.36), a | b (<< 2:1.0~rc1), c:any (= 1.0-1)',
    Provides: 'virtual (= 1.0), other',
    Source: 'samples (1.0-0)',
    Homepage: 'https://example.org/',
  },
})
const PAYLOAD = buildCpio([
  { name: './usr/bin/sample', content: FILES['usr/bin/sample'], mode: 0o100755 },
  { name: './usr/share/doc/sample', mode: 0o40755 },
  { name: './usr/share/doc/sample/changelog', content: 'x'.repeat(3000) },
])
const RPM_FILES = [
  { path: '/usr/bin/sample', content: FILES['usr/bin/sample'], mode: 0o100755 },
  { path: '/usr/share/doc/sample', kind: 'directory' as const },
  { path: '/usr/share/doc/sample/changelog', content: 'x'.repeat(3000) },
]

const deb = (make: Subject['make'], part: string): Subject => ({ name: `deb, ${part}`, make })
const rpm = (make: Subject['make'], part: string): Subject => ({ name: `rpm, ${part}`, make })
const apk = (make: Subject['make'], part: string): Subject => ({ name: `apk, ${part}`, make })

export const SUBJECTS: Subject[] = [
  ...COMPRESSIONS.map((compression) =>
    deb(
      whole(() => buildDeb({ compression, files: FILES })),
      `whole, ${compression}`,
    ),
  ),
  deb(
    (mutate) => debOf(buildTar([{ name: './control', content: mutate(Buffer.from(CONTROL)) }]), 'none'),
    'control file',
  ),
  ...COMPRESSIONS.map((compression) =>
    deb((mutate) => debOf(repaired(mutate(controlTar())), compression), `control.tar in ${compression}`),
  ),
  deb((mutate) => debOf(controlTar(), 'none', repaired(mutate(dataTar()))), 'data.tar'),
  ...(['gz', 'xz', 'zst', 'lzma', 'none'] as const).map((compression) =>
    rpm(
      whole(() => buildRpm({ compression, files: RPM_FILES })),
      `whole, ${compression}`,
    ),
  ),
  rpm(
    async (mutate) =>
      rpmOf(
        await buildRpm({
          files: RPM_FILES,
          requires: ['libc.so.6()(64bit)', 'a >= 1:2.0-1', '(b if c)'],
          provides: ['d = 1.0'],
          recommends: ['e'],
        }),
        mutate,
      ),
    'header with correct digests',
  ),
  rpm(
    (mutate) => buildRpm({ files: RPM_FILES, payload: mutate(PAYLOAD), compressor: 'gzip' }),
    'payload that does not match its header',
  ),
  rpm(async (mutate) => buildRpm({ files: RPM_FILES, payload: gzipSync(mutate(PAYLOAD)), compressor: 'gzip' }), 'cpio'),
  apk(
    whole(async () => buildApk({ files: FILES })),
    'whole',
  ),
  apk(
    async (mutate) =>
      apkOf(
        mutate(
          Buffer.from(
            pkginfoText(
              { info: { depend: ['so:libc.musl-x86_64.so.1', 'a>=1.0', '!b'], provides: ['c=1.0-r0'] } },
              apkData(),
            ),
          ),
        ),
      ),
    '.PKGINFO',
  ),
  apk(
    async (mutate) => apkOf(Buffer.from(pkginfoText({}, gzipSync(dataTar()))), mutate),
    'data segment with a correct digest',
  ),
]

/** Builds the package once for all mutations. */
function whole(build: () => Promise<Buffer>): Subject['make'] {
  let sound: Promise<Buffer> | null = null
  return async (mutate) => mutate(await (sound ??= build()))
}

function controlTar(): Buffer {
  return buildTar([
    { name: './' },
    { name: './control', content: CONTROL },
    { name: './postinst', content: '#!/bin/sh\n', mode: 0o755 },
  ])
}

function dataTar(): Buffer {
  return buildTar(
    [...withDirectories(FILES), { name: 'usr/bin/link', type: '2', linkName: 'sample' }].filter(
      ({ type }) => type !== 'x',
    ),
  )
}

const soundData = new Map<SampleCompression, Promise<Buffer>>()

async function debOf(control: Buffer, compression: SampleCompression, data?: Buffer): Promise<Buffer> {
  if (!soundData.has(compression)) soundData.set(compression, compressSample(dataTar(), compression))
  const packed = data ? compressSample(data, compression) : (soundData.get(compression) as Promise<Buffer>)
  return assembleDeb({ control: await compressSample(control, compression), data: await packed, compression })
}

/** Damages the main header and makes a matching signature header. */
function rpmOf(whole: Buffer, mutate: Mutate): Buffer {
  const end = (at: number) => at + 16 + 16 * whole.readUInt32BE(at + 8) + whole.readUInt32BE(at + 12)
  const from = (end(96) + 7) & ~7
  const payload = whole.subarray(end(from))
  const header = mutate(whole.subarray(from, end(from)))
  const rest = Buffer.concat([header, payload])
  const hex = (algorithm: string) => string(createHash(algorithm).update(header).digest('hex'))
  const signature = renderHeader(62, {
    269: hex('sha1'),
    273: hex('sha256'),
    1000: int32(rest.length),
    1004: bin(createHash('md5').update(rest).digest()),
    1008: bin(Buffer.alloc(64)),
  })
  return assembleRpm({ signature, header, payload })
}

const apkData = () => gzipSync(buildTar(withDirectories(FILES)))

/** @param mutate damages the data archive; the digest in `.PKGINFO` is updated */
function apkOf(pkginfo: Buffer, mutate?: Mutate): Buffer {
  const data = mutate ? gzipSync(repaired(mutate(buildTar(withDirectories(FILES))))) : apkData()
  const text = mutate ? Buffer.from(pkginfoText({}, data)) : pkginfo
  return assembleApk({ control: gzipSync(buildTar([{ name: '.PKGINFO', content: text }], { end: false })), data })
}

/** Corrects the checksums of tar headers, so that a reader continues with the other fields. */
function repaired(tar: Buffer): Buffer {
  const copy = Buffer.from(tar)
  for (let at = 0; at + 512 <= copy.length; at += 512) {
    if (copy.toString('latin1', at + 257, at + 262) !== 'ustar') continue
    copy.fill(0x20, at + 148, at + 156)
    const sum = copy.subarray(at, at + 512).reduce((total, byte) => total + byte, 0)
    copy.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148, 'latin1')
  }
  return copy
}
