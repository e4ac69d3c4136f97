// The EICAR test file in containers without magic bytes at the beginning, and in zip files that hide an entry.
import { gzipSync } from 'node:zlib'
import { eicar } from '../fakes/clamd.ts'
import { zstdFrame } from '../samples/compress.ts'
import { buildOldCpio, type OldCpioForm } from '../samples/cpio.ts'
import { tarEntry } from '../samples/tar.ts'
import { buildZip } from '../samples/zip.ts'

/** No signature matches the compressed bytes, and clamd does not unpack them. */
const packed = () => zstdFrame(eicar(), 7)
const SCRIPT = Buffer.from('#!/usr/bin/env python3\n')
const PROGRAM = Buffer.concat([Buffer.from('\x7fELF\x02\x01\x01', 'latin1'), Buffer.alloc(200_000, 0x90)])

/** Containers, and the path of the file that the engine receives. */
export function unmarked(): [title: string, file: string, content: Buffer, found: string][] {
  const file = packed()
  const zip = buildZip([{ name: 'e.zst', content: file }])
  const app = Buffer.concat([SCRIPT, zip])
  const cpio = (form: OldCpioForm) =>
    buildOldCpio(form, [
      { name: 'odd', content: 'x' },
      { name: 'e.zst', content: file },
    ])
  const v7 = v7Tar([
    ['a', Buffer.from('x')],
    ['e.zst', file],
  ])
  return [
    ['a v7 tar', 'a.tar', v7, 'a.tar!/e.zst!/e'],
    ['a v7 tar in a gzip', 'a.tgz', gzipSync(v7), 'a.tgz!/a.tar!/e.zst!/e'],
    ['a v7 tar whose first name is a magic', 'a', v7Tar([['\x1f\x8bZ', file]]), 'a!/\x1f\ufffdZ!/\x1f\ufffdZ'],
    ['an odc cpio', 'a.cpio', cpio('odc'), 'a.cpio!/e.zst!/e'],
    ['a binary cpio', 'a.cpio', cpio('little'), 'a.cpio!/e.zst!/e'],
    ['a binary cpio of the other byte order', 'a.cpio', cpio('big'), 'a.cpio!/e.zst!/e'],
    ['a binary cpio with a long name', 'a', buildOldCpio('little', [{ name: 'n'.repeat(600), content: file }]), ''],
    ['a zipapp', 'app', app, 'app!/e.zst!/e'],
    ['a self-extracting program', 'app', Buffer.concat([PROGRAM, zip]), 'app!/e.zst!/e'],
    ['a zipapp with a line behind it', 'app', Buffer.concat([app, Buffer.from('\n')]), 'app!/e.zst!/e'],
    ['a zipapp in a zipapp', 'app', prefixed([{ name: 'in', content: app, stored: true }]), 'app!/in!/e.zst!/e'],
    ['a zipapp in a tar.gz', 'a.tgz', gzipSync(v7Tar([['app', app]])), 'a.tgz!/a.tar!/app!/e.zst!/e'],
    ['a zipapp in a zip', 'a.zip', buildZip([{ name: 'app', content: app }]), 'a.zip!/app!/e.zst!/e'],
    ['a zipapp in a zstd file', 'app.zst', zstdFrame(app), 'app.zst!/app!/e.zst!/e'],
    ['a zip that begins with its directory', 'omni.ja', directoryFirst(file), 'omni.ja!/e.zst!/e'],
    ['a zip that does not list a file', 'a.zip', withUnlisted(file), 'a.zip!/hidden.zst!/hidden'],
    ['a zip that lists none of its files', 'a.zip', Buffer.concat([zip, buildZip([])]), 'a.zip!/e.zst!/e'],
    [
      'two zips behind each other',
      'a.zip',
      Buffer.concat([zip, buildZip([{ name: 'b', content: 'x' }])]),
      'a.zip!/e.zst!/e',
    ],
    ['a zip whose directory entry has content', 'a.zip', buildZip([{ name: 'd/', content: file }]), 'a.zip!/d/!/'],
  ]
}

/** Zip files whose contents differ between two readers: title, content, part of the reason. */
export function ambiguous(): [title: string, content: Buffer, reason: string][] {
  const zip = buildZip([{ name: 'entry', content: 'x'.repeat(500), stored: true }])
  const change = (at: number, value: number) => {
    const bytes = Buffer.from(zip)
    bytes.writeUInt16LE(value, at)
    return bytes
  }
  const openEnded = withUnlisted(packed())
  openEnded.writeUInt16LE(8, openEnded.indexOf('hidden.zst') - 24)
  return [
    ['a zip whose entry has another method in front', change(8, 8), 'not what the directory says'],
    ['a zip whose entry is longer in front', change(18, 510), 'not what the directory says'],
    ['a zip that does not list a file of unknown length', openEnded, 'not in its directory'],
    ['a damaged zipapp', Buffer.concat([SCRIPT, change(40, 0x7979)]), 'damaged'],
    [
      'an odc cpio cut short',
      buildOldCpio('odc', [{ name: 'a', content: 'abc' }]).subarray(0, 100),
      'cannot be opened',
    ],
  ]
}

function prefixed(entries: Parameters<typeof buildZip>[0]): Buffer {
  return Buffer.concat([PROGRAM, buildZip(entries)])
}

/** In the form of tar before POSIX: nothing after the name of the link. */
function v7Tar(entries: readonly [name: string, content: Buffer][]): Buffer {
  const all = entries.map(([name, content]) => {
    const entry = tarEntry({ name: Buffer.from(name, 'latin1'), content, type: '\0' })
    const header = entry.subarray(0, 512)
    header.fill(0, 257)
    header.fill(0x20, 148, 156)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, ' ')}\0 `, 148, 'latin1')
    return entry
  })
  return Buffer.concat([...all, Buffer.alloc(1024)])
}

/** A valid zip with the bytes of a further file between its entries and its directory. */
function withUnlisted(content: Buffer): Buffer {
  const hidden = buildZip([{ name: 'hidden.zst', content, stored: true }])
  const zip = buildZip([{ name: 'shown', content: 'x' }])
  const directory = zip.indexOf('PK\x01\x02')
  const local = hidden.subarray(0, hidden.indexOf('PK\x01\x02'))
  const end = Buffer.from(zip.subarray(directory))
  end.writeUInt32LE(directory + local.length, end.length - 6)
  return Buffer.concat([zip.subarray(0, directory), local, end])
}

/** In the form of Firefox's omni.ja: a count, the directory, the files, and only then the end record. */
function directoryFirst(content: Buffer): Buffer {
  const zip = buildZip([{ name: 'e.zst', content }])
  const directory = zip.indexOf('PK\x01\x02')
  const end = zip.indexOf('PK\x05\x06')
  const [files, index] = [zip.subarray(0, directory), Buffer.from(zip.subarray(directory, end))]
  index.writeUInt32LE(4 + index.length, 42)
  const record = Buffer.from(zip.subarray(end))
  record.writeUInt32LE(4, 16)
  return Buffer.concat([Buffer.from([1, 0, 0, 0]), index, files, record])
}
