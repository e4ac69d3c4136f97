// Odd packages from the tests of other projects: each is built from its description, passes through the service,
// and the real tool installs it from the served repository.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runAsRoot } from '../clients/command.ts'
import { need } from '../need.ts'
import { assembleDeb, buildDeb, controlText, type SampleDeb } from '../samples/deb.ts'
import { bin, buildRpm, i18n, string, strings, type SampleRpm } from '../samples/rpm.ts'
import { buildTar, paxEntry } from '../samples/tar.ts'
import { removeTemporary, startService, type Service } from '../service.ts'

/** Tags that rpm before 4.14 did not write. */
const NO_PAYLOAD_DIGEST = { 5092: null, 5093: null, 5097: null }
const FILES = [
  { path: '/usr/share/odd', kind: 'directory' as const },
  { path: '/usr/share/odd/file', content: 'x' },
  { path: '/usr/share/odd/link', kind: 'link' as const, content: 'file' },
  { path: '/usr/share/odd/ghost', kind: 'ghost' as const },
]

const RPMS: Record<string, SampleRpm> = {
  plain: {},
  'rpm 4.11, gzip': { tags: NO_PAYLOAD_DIGEST, signatureTags: { 273: null, 1008: null } },
  'rpm 4.11, xz, with files of every kind': { tags: NO_PAYLOAD_DIGEST, compression: 'xz', files: FILES },
  'rpm 4.8, lzma, noarch': { tags: NO_PAYLOAD_DIGEST, compression: 'lzma', arch: 'noarch' },
  'rpm 4.11 without a compressor': { tags: NO_PAYLOAD_DIGEST, compression: 'none' },
  'rpm 4.11, signed by a vendor over the header alone': {
    tags: NO_PAYLOAD_DIGEST,
    signatureTags: { 268: bin(Buffer.from('8900', 'hex')) },
  },
  'rpm 4.4, MD5 and SHA-1 alone': { tags: NO_PAYLOAD_DIGEST, signatureTags: { 273: null, 1007: null } },
  'rpm 4.0 with old file names': {
    tags: {
      ...NO_PAYLOAD_DIGEST,
      ...{ 1027: strings('/usr/share/odd-old'), 1116: null, 1117: null, 1118: null },
    },
    files: [{ path: '/usr/share/odd-old', content: 'x' }],
  },
  'a large signature header': { signatureTags: { 1099: bin(Buffer.alloc(5001)) } },
  zstd: { compression: 'zst', files: FILES },
  'a stripped archive': { stripped: true, files: FILES },
  'no files': { files: [] },
  'an epoch, a tilde and a caret': { epoch: 7, version: '1.0~rc1^git3', release: '4.el9' },
  'signs in its name': { name: 'odd-c++_x.y' },
  'texts in Latin-1': { tags: { 1004: i18n(Buffer.from('Caf\xe9', 'latin1')) } },
  'hardly any text': { tags: { 1005: null, 1007: null, 1015: null, 1016: null, 1020: null } },
  'rich and weak dependencies': {
    recommends: ['(a or b)'],
    suggests: ['c'],
    supplements: ['(d and e)'],
    enhances: ['f'],
  },
  'wide sizes': { tags: { 5009: { type: 'int64', values: [1] }, 1009: null } },
  'a vendor': { tags: { 1011: string('Exämple & Söhne') } },
  'format 6': { v6: true },
  'format 6, zstd, stripped': { v6: true, compression: 'zst', stripped: true, files: FILES },
  'format 6, noarch, no files': { v6: true, arch: 'noarch', files: [] },
}

const DEBS: Record<string, SampleDeb> = {
  plain: {},
  'upper case in its name': { name: 'WorldOfGoo' },
  'one letter': { name: 'r' },
  'an equals sign in its source': { fields: { Source: 'x (= 1)' } },
  'a source version': { fields: { Source: 'odd-source (2:1.0)' } },
  'an epoch and a tilde': { version: '2:1.0~rc1+b1-3' },
  xz: { compression: 'xz' },
  zst: { compression: 'zst' },
  uncompressed: { compression: 'none' },
  'old operators': { fields: { Depends: 'dpkg (> 1)', Conflicts: 'odd-none (< 1)' } },
  'alternatives over several lines': { fields: { Recommends: 'a | b (>= 1),\n c:any' } },
  'a Size of its own': { fields: { Size: '1', SHA256: '0'.repeat(64), Filename: 'x' } },
  'further fields': { fields: { 'X-Odd': 'ä\n two\n .\n three', Protected: 'no', 'Multi-Arch': 'foreign' } },
  'no files': { files: {} },
  'architecture all': { arch: 'all' },
  'long paths': { files: { [`usr/share/${'d'.repeat(90)}/${'f'.repeat(90)}`]: 'x' } },
}

let service: Service
let root: string
let installed = 0

beforeAll(async () => {
  need('rpm', 'gnupg')
  root = await mkdtemp(join(tmpdir(), 'odd-packages-'))
  service = await startService({ env: { REPO_FORMAT: 'all', SVC_DISTRIBUTIONS: 'bookworm,fedora43' } })
})
afterAll(async () => {
  await service.stop()
  await removeTemporary()
  await rm(root, { recursive: true, force: true })
})

const served = async (url: string) => Buffer.from(await (await fetch(url)).arrayBuffer())

async function published(bytes: Uint8Array, distribution: string): Promise<void> {
  const { status, body } = await service.upload(bytes, 'odd', { distribution })
  expect([status, body.status], JSON.stringify(body)).toEqual([201, 'published'])
}

describe('rpm', () => {
  let entries: string[]
  const base = () => `${service.rpm}/repos/fedora43/x86_64`
  const nameOf = (sample: SampleRpm) => sample.name ?? `odd-${Object.values(RPMS).indexOf(sample)}`

  beforeAll(async () => {
    await writeFile(join(root, 'key.asc'), await served(`${service.rpm}/repos/gpg.key`))
    await mkdir(join(root, 'rpm'))
    expect(await rpm('rpmkeys', '--import', join(root, 'key.asc'))).toMatchObject({ code: 0 })
    // All at once, so that they share publishes.
    const uploads = Object.values(RPMS).map(async (sample) =>
      published(await buildRpm({ ...sample, name: nameOf(sample) }), 'fedora43'),
    )
    await Promise.all(uploads)
    const repomd = (await served(`${base()}/repodata/repomd.xml`)).toString()
    const [, primary] = /href="([^"]*primary\.xml\.gz)"/.exec(repomd)!
    entries = gunzipSync(await served(`${base()}/${primary}`))
      .toString()
      .split('<package ')
  })

  const rpm = (program: 'rpm' | 'rpmkeys', ...args: string[]) =>
    runAsRoot([program, '--root', join(root, 'rpm'), '--define', '_pkgverify_level signature', ...args], root)

  it.each(Object.entries(RPMS))('%s is verified and installed', async (_, sample) => {
    const name = nameOf(sample)
    const entry = entries.find((one) => one.includes(`<name>${name}</name>`))!
    const [, location] = /<location href="([^"]*)"/.exec(entry)!
    const path = join(root, 'served.rpm')
    await writeFile(path, await served(`${base()}/${location}`))
    expect(entry).toContain(
      createHash('sha256')
        .update(await readFile(path))
        .digest('hex'),
    )

    const checked = await rpm('rpmkeys', '--checksig', path)
    expect(checked.code, checked.text).toBe(0)
    const done = await rpm('rpm', '--install', '--nodeps', '--replacefiles', path)
    expect(done.code, done.text).toBe(0)
    expect(done.text).not.toMatch(/NOKEY|BAD|no (digest|signature)/)
    expect((await rpm('rpm', '--query', name)).code).toBe(0)
    installed++
  })
})

describe('deb', () => {
  beforeAll(async () => {
    await mkdir(join(root, 'deb/var/lib/dpkg/info'), { recursive: true })
    await mkdir(join(root, 'deb/var/lib/dpkg/updates'))
    for (const name of ['status', 'available']) await writeFile(join(root, 'deb/var/lib/dpkg', name), '')
  })

  async function isInstalled(name: string, bytes: Uint8Array): Promise<void> {
    await published(bytes, 'bookworm')
    const index = (await served(`${service.apt}/repos/dists/bookworm/main/binary-amd64/Packages`)).toString()
    const stanza = index.split('\n\n').find((one) => one.startsWith(`Package: ${name}\n`))!
    const [, filename] = /^Filename: (.*)$/m.exec(stanza)!
    const path = join(root, 'served.deb')
    await writeFile(path, await served(`${service.apt}/repos/${filename}`))
    expect(stanza).toContain(
      createHash('sha256')
        .update(await readFile(path))
        .digest('hex'),
    )
    const dpkg = ['dpkg', '--root', join(root, 'deb'), '--force-depends', '--install', path]
    const done = await runAsRoot(dpkg, root)
    expect(done.code, done.text).toBe(0)
    // dpkg lists every package under its name in lower case.
    const query = ['-W', '-f', '${Status}', name.toLowerCase()]
    const status = spawnSync('dpkg-query', [`--admindir=${join(root, 'deb/var/lib/dpkg')}`, ...query])
    expect(String(status.stdout)).toBe('install ok installed')
    installed++
  }

  it.each(Object.entries(DEBS))('%s is installed', async (_, sample) => {
    const name = sample.name ?? `odd-${Object.values(DEBS).indexOf(sample)}`
    await isInstalled(name, await buildDeb({ ...sample, name }))
  })

  it('pax headers of macOS in control.tar are no hindrance', async () => {
    const control = buildTar([{ name: './control', content: controlText({ name: 'odd-pax' }) }])
    const pax = paxEntry({ mtime: '1700000000.25', 'LIBARCHIVE.creationtime': '1700000000' })
    await isInstalled(
      'odd-pax',
      assembleDeb({ control: Buffer.concat([pax, control]), data: buildTar([{ name: './' }]) }),
    )
  })
})

it('all of them are installed', () => {
  expect(installed).toBe(Object.keys(RPMS).length + Object.keys(DEBS).length + 1)
})
