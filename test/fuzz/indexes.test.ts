// Reads thousands of damaged indexes and descriptions of repositories: each is read, or refused as the source's fault.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { CatalogEntry, RepositoryIo, StagedFile } from '../../src/formats/catalog.ts'
import { isProblem } from '../../src/domain/problem.ts'
import { apkFormat } from '../../src/formats/apk/index.ts'
import { debFormat } from '../../src/formats/deb/index.ts'
import { rpmFormat } from '../../src/formats/rpm/index.ts'
import { tarFile } from '../../src/formats/apk/tar-blocks.ts'
import { within } from '../within.ts'
import { createRandom, mutate } from './mutate.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 3000)
const SEED = Number(process.env['FUZZ_SEED'] ?? 1)
/** A read takes milliseconds. */
const MOST_MS = 10_000

const HEX = 'ab'.repeat(32)
const PACKAGES = Buffer.from(
  ['one', 'two']
    .map(
      (
        name,
      ) => `Package: ${name}\nVersion: 1:1.0-1~b+c\nArchitecture: amd64\nMaintainer: A <a@example.org>\nSection: misc
Depends: libc6 (>= 2.34), a | b:any, c (<< 1)\nProvides: x (= 1)\nSource: src (0.9)\nDescription: text\n more\nFilename: pool/${name}.deb
Size: 100\nSHA256: ${HEX}\n\n`,
    )
    .join(''),
)
const RELEASE =
  Buffer.from(`Origin: X\nSuite: test\nCodename: test\nDate: Sat, 21 Nov 2026 11:00:00 UTC\nValid-Until: Sat, 28 Nov 2026 11:00:00 UTC
Acquire-By-Hash: yes\nArchitectures: amd64\nComponents: main\nSHA256:\n ${HEX}  100 main/binary-amd64/Packages\n ${HEX} 50 main/binary-amd64/Packages.gz\n`)
const PRIMARY =
  Buffer.from(`<?xml version="1.0" encoding="UTF-8"?><metadata xmlns="a" xmlns:rpm="b" packages="1"><package type="rpm"><name>one</name>
<arch>x86_64</arch><version epoch="1" ver="1.0" rel="1"/><checksum type="sha256" pkgid="YES">${HEX}</checksum><summary>a &amp; b &#65;</summary>
<size package="1" installed="2" archive="3"/><location href="p/one.rpm"/><format><rpm:license>MIT</rpm:license><rpm:sourcerpm>a-1-1.src.rpm</rpm:sourcerpm>
<rpm:requires><rpm:entry name="(a or b &gt;= 2)"/><rpm:entry name="c" flags="GE" epoch="0" ver="1" rel="2"/></rpm:requires><!-- x --><file>/usr/bin/one</file></format></package></metadata>`)
const REPOMD =
  Buffer.from(`<?xml version="1.0"?><repomd xmlns="a"><revision>1</revision><data type="primary"><checksum type="sha256">${HEX}</checksum>
<location href="repodata/primary.xml.gz"/><timestamp>1700000000</timestamp><size>100</size><open-size>200</open-size></data></repomd>`)
const METALINK =
  Buffer.from(`<metalink version="3.0"><files><file name="repomd.xml"><size>5</size><verification><hash type="sha256">${HEX}</hash></verification>
<resources><url protocol="http" preference="100">http://host/a/repodata/repomd.xml</url></resources></file></files></metalink>`)
const APKINDEX = Buffer.from(
  `C:Q1qKcZ+j23xssAXmgQhkOO8dHnbWw=\nP:one\nV:1.0-r0\nA:x86_64\nS:100\nI:200\nT:text\nL:MIT\no:src\nD:so:x.so.1 b>=1 !c\np:cmd:one=1.0-r0\n\n`.repeat(
    2,
  ),
)
const apkTar = (index: Buffer) =>
  Buffer.concat([tarFile('DESCRIPTION', Buffer.from('x')), tarFile('APKINDEX', index), Buffer.alloc(1024)])

let directory: string
let staged: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fuzz-indexes-'))
  staged = join(directory, 'index')
})
afterAll(() => rm(directory, { recursive: true }))

async function stage(content: Buffer): Promise<StagedFile> {
  await writeFile(staged, content)
  return { path: staged, sizeBytes: content.length, sha256: HEX }
}

async function entries(format: typeof debFormat | typeof rpmFormat | typeof apkFormat, content: Buffer): Promise<void> {
  const index = { name: 'the index', arch: null, from: [], openSizeBytes: null }
  const found: CatalogEntry[] = []
  for await (const record of format.catalog.records(await stage(content), index)) {
    const item = record.read()
    if (!('unreadable' in item)) found.push(item)
  }
  for (const { name, version, digest, sizeBytes, path } of found) {
    expect(name).toMatch(/^[A-Za-z0-9_][A-Za-z0-9._+-]*$/)
    expect(format.versions.isValid(version)).toBe(true)
    expect(digest.hex).toMatch(/^(?:[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$/)
    expect(Number.isSafeInteger(sizeBytes)).toBe(true)
    expect(path).not.toBe('')
  }
}

async function description(format: typeof debFormat | typeof rpmFormat, content: Buffer): Promise<void> {
  const io: RepositoryIo = {
    roots: async () => [await stage(content)],
    small: async () => null,
    optional: async () => content,
    signed: false,
    mayBeUnsigned: true,
    keys: [],
    verifyCleartext: async (document) => ({ text: Buffer.from(document).toString('utf8'), signedBy: [] }),
    verifyDetached: async () => [],
  }
  const request = { suite: 'test', components: ['main'], architectures: ['amd64'], expected: null }
  const found = await format.catalog.describe(request, io)
  if (found === 'unchanged') throw new Error('unchanged')
  for (const { sizeBytes, digest } of found.indexes.flatMap(({ from }) => from)) {
    expect(Number.isSafeInteger(sizeBytes)).toBe(true)
    expect(digest.hex).toMatch(/^[0-9a-f]{64,128}$/)
  }
  for (const date of [found.date, found.validUntil]) if (date) expect(Number.isNaN(date.getTime())).toBe(false)
}

const SUBJECTS: { name: string; sound: Buffer; read: (content: Buffer) => Promise<void> }[] = [
  { name: 'Packages', sound: PACKAGES, read: (content) => entries(debFormat, content) },
  { name: 'Release', sound: RELEASE, read: (content) => description(debFormat, content) },
  { name: 'primary.xml', sound: PRIMARY, read: (content) => entries(rpmFormat, content) },
  { name: 'primary.xml.gz', sound: gzipSync(PRIMARY), read: (content) => entries(rpmFormat, content) },
  { name: 'repomd.xml', sound: REPOMD, read: (content) => description(rpmFormat, content) },
  {
    name: 'metalink',
    sound: METALINK,
    read: async (content) => void rpmFormat.catalog.readMirrors!('metalink', content.toString('utf8')),
  },
  { name: 'APKINDEX', sound: APKINDEX, read: (content) => entries(apkFormat, gzipSync(apkTar(content))) },
  { name: 'the tar of APKINDEX', sound: apkTar(APKINDEX), read: (content) => entries(apkFormat, gzipSync(content)) },
  { name: 'APKINDEX.tar.gz', sound: gzipSync(apkTar(APKINDEX)), read: (content) => entries(apkFormat, content) },
]

it.each(SUBJECTS)('$name is sound before it is damaged', async ({ sound, read }) => {
  await read(sound)
})

it.each(SUBJECTS)(
  `$name is read or refused in each of ${Math.ceil(RUNS / SUBJECTS.length)} damaged forms`,
  async ({ name, sound, read }) => {
    for (let run = 0; run < RUNS / SUBJECTS.length; run++) {
      const damaged = mutate(sound, PACKAGES, createRandom(SEED * 1_000_003 + run))
      const what = `${name}, run ${run}`
      const attempt = () =>
        read(damaged).then(
          () => null,
          (thrown: unknown) => thrown,
        )
      const error = await within(MOST_MS, attempt, what)
      if (error !== null && !isProblem(error, 'upstream_error')) throw new Error(what, { cause: error })
    }
  },
  600_000,
)
