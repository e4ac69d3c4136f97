// Reads repositories made by other programs: reprepro, createrepo_c and gpg, our own service, and a Debian mirror.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readKeys } from 'openpgp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CatalogEntry } from '../../src/formats/catalog.ts'
import { formats } from '../../src/formats/index.ts'
import { systemClock, wait } from '../../src/kernel/clock.ts'
import { createHttpClient } from '../../src/kernel/http-client.ts'
import type { UpstreamSource } from '../../src/upstream/source.ts'
import { entriesOf } from '../../src/upstream/fixture.ts'
import { realReaders } from '../../src/formats/readers/fixture.ts'
import type { ReaderPool } from '../../src/formats/readers/pool.ts'
import { createUpstreams, type Upstream, type Upstreams } from '../../src/upstream/upstream.ts'
import { need } from '../need.ts'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { buildRpm } from '../samples/rpm.ts'
import { removeTemporary, startService, type Service } from '../service.ts'

let directory: string
let home: string
let key: string
let readers: ReaderPool
let upstreams: Upstreams
const http = createHttpClient({ allowPrivate: true })
const gpg = (...args: string[]) =>
  execFileSync('gpg', ['--batch', '--yes', '--homedir', home, ...args], { stdio: 'pipe' })

beforeAll(async () => {
  need('gnupg', 'reprepro', 'createrepo-c', 'debian-archive-keyring')
  directory = await mkdtemp(join(tmpdir(), 'upstream-'))
  home = join(directory, 'gnupg')
  await mkdir(home, { mode: 0o700 })
  await mkdir(join(directory, 'staging'))
  gpg('--passphrase', '', '--quick-generate-key', 'upstream', 'rsa2048', 'sign', 'never')
  key = gpg('--armor', '--export', 'upstream').toString()
  readers = realReaders(join(directory, 'staging'))
  upstreams = createUpstreams({
    http,
    clock: systemClock,
    formats,
    readers: { quick: readers, slow: readers },
    stagingDirectory: join(directory, 'staging'),
    importDirectories: [directory],
    wait,
  })
})
afterAll(async () => {
  await http.close()
  await readers.close()
  await removeTemporary()
  spawnSync('gpgconf', ['--homedir', home, '--kill', 'all'])
  await rm(directory, { recursive: true, force: true })
})

/** Reads everything, fetches the first packages, and expects that the next check finds nothing new. */
async function readAll(source: Omit<UpstreamSource, 'allowUnsigned'>, fetched = Infinity): Promise<CatalogEntry[]> {
  const upstream: Upstream = await upstreams.open({ allowUnsigned: false, ...source })
  const checked = await upstream.check(null)
  if (checked.state === 'unchanged') throw new Error('nothing to read')
  const staged = await checked.stage()
  const entries: CatalogEntry[] = []
  for await (const batch of staged.packages()) {
    expect(batch.unreadable).toEqual([])
    entries.push(...entriesOf(batch))
  }
  await staged.remove()
  const format = formats.find(({ repoFormat }) => repoFormat === source.type)!
  for (const entry of entries.slice(0, fetched)) {
    const to = join(directory, 'staging', 'fetched')
    await upstream.fetchPackage(entry, to)
    const facts = await format.read(to)
    const { path: _path, sizeBytes: _size, digest: _digest, files: _files, ...stated } = entry
    // Indexes omit facts that only the file has.
    expect(facts).toMatchObject({ name: stated.name, version: stated.version, arch: stated.arch })
    expect(stated.requirements).toEqual(facts.requirements)
    expect(stated.provides).toEqual(facts.provides)
    expect(stated).toMatchObject({
      description: facts.description,
      license: source.type === 'apt' ? stated.license : facts.license,
      sourcePackage: facts.sourcePackage,
      sourceVersion: facts.sourceVersion,
    })
    await rm(to)
  }
  expect((await upstream.check(checked.seen)).state).toBe('unchanged')
  return entries
}

const keys = (text: string) => [{ name: null, text }]
const local = (name: string) => pathToFileURL(join(directory, name)).href

describe('a repository by reprepro', () => {
  it('is read with the facts of its packages', async () => {
    const root = join(directory, 'apt')
    await mkdir(join(root, 'conf'), { recursive: true })
    await writeFile(
      join(root, 'conf/distributions'),
      'Codename: test\nSuite: stable\nComponents: main extra\nArchitectures: amd64 arm64\nSignWith: default\n',
    )
    const fields = { Depends: 'libc6 (>= 2.34), a | b:any', Provides: 'x (= 1)', Source: 'one-src (0.9)' }
    await writeFile(join(directory, 'one.deb'), await buildDeb({ name: 'one', version: '1:1.0+b1~x', fields }))
    await writeFile(join(directory, 'all.deb'), await buildDeb({ name: 'everywhere', arch: 'all' }))
    const reprepro = (component: string, file: string) =>
      execFileSync('reprepro', ['-b', root, '-C', component, 'includedeb', 'test', join(directory, file)], {
        env: { ...process.env, GNUPGHOME: home },
        stdio: 'pipe',
      })
    reprepro('main', 'one.deb')
    reprepro('extra', 'all.deb')
    const entries = await readAll({
      type: 'apt',
      url: local('apt'),
      suite: 'test',
      components: ['main', 'extra'],
      architectures: ['amd64', 'arm64'],
      keys: keys(key),
    })
    // A package for all architectures appears with each of them.
    expect(entries.map(({ name, arch }) => `${name} ${arch}`)).toEqual([
      'one amd64',
      'everywhere all',
      'everywhere all',
    ])
  })
})

describe('a repository by createrepo_c', () => {
  it.each(['gz', 'xz'])('compressed with %s is read with the facts of its packages', async (compression) => {
    const root = join(directory, `rpm-${compression}`)
    await mkdir(root)
    const sample = {
      name: 'one',
      epoch: 2,
      version: '1.0~rc1',
      release: '3.el9',
      requires: ['bash >= 5', '(a or b >= 2)', 'libc.so.6(GLIBC_2.34)(64bit)'],
      provides: ['one = 2:1.0~rc1-3.el9', 'greeter'],
      recommends: ['nice'],
      conflicts: ['old < 1-2'],
      files: [{ path: '/usr/bin/one', content: 'x' }],
    }
    await writeFile(join(root, 'one.rpm'), await buildRpm(sample))
    await writeFile(join(root, 'with+plus^caret.rpm'), await buildRpm({ name: 'two', arch: 'noarch' }))
    execFileSync('createrepo_c', ['--general-compress-type', compression, root], { stdio: 'pipe' })
    gpg('--armor', '--detach-sign', join(root, 'repodata/repomd.xml'))
    const entries = await readAll({ type: 'rpm', url: local(`rpm-${compression}`), keys: keys(key) })
    expect(entries.map(({ name, version, arch }) => `${name} ${version} ${arch}`).sort()).toEqual([
      'one 2:1.0~rc1-3.el9 x86_64',
      'two 1.0-1 noarch',
    ])
  })
})

describe('repositories of this service', () => {
  let service: Service
  beforeAll(async () => {
    service = await startService({ env: { REPO_FORMAT: 'all' } })
  })
  afterAll(() => service?.stop())

  const text = async (url: string) => {
    const answer = await fetch(url)
    expect(answer.status).toBe(200)
    return answer.text()
  }

  it('are read with the facts of their packages', async () => {
    for (const [file, name, distribution] of [
      [await buildDeb({ name: 'one', fields: { Depends: 'bash' } }), 'one.deb', 'bookworm'],
      [await buildRpm({ name: 'one', requires: ['bash'], provides: ['greeter = 1'] }), 'one.rpm', 'almalinux9'],
      [buildApk({ name: 'one', info: { depend: ['so:x.so.1', 'busybox>=1.36'] } }), 'one.apk', 'alpine3.20'],
    ] as const)
      expect((await service.upload(file, name, { distribution })).status).toBe(201)
    const openpgp = keys(await text(`${service.apt}/repos/gpg.key`))
    const apt = { type: 'apt', url: `${service.apt}/repos/`, suite: 'bookworm', components: ['main'] }
    expect(await readAll({ ...apt, architectures: ['amd64'], keys: openpgp })).toMatchObject([{ name: 'one' }])
    const rpm = { type: 'rpm', url: `${service.rpm}/repos/almalinux9/x86_64/` }
    expect(await readAll({ ...rpm, keys: openpgp })).toMatchObject([{ name: 'one' }])
    const apkKey = [{ name: 'svc.rsa.pub', text: await text(`${service.apt}/apk/svc.rsa.pub`) }]
    const apk = { type: 'apk', url: `${service.apt}/apk/alpine3.20/main/` }
    expect(await readAll({ ...apk, architectures: ['x86_64'], keys: apkKey })).toMatchObject([{ name: 'one' }])
  })
})

describe('the Debian mirror of this machine', () => {
  it('is read with the keys of Debian', async () => {
    const format = ['SITE', 'RELEASE', 'COMPONENT', 'ARCHITECTURE'].map((field) => `$(${field})`).join('|')
    const targets = execFileSync('apt-get', ['indextargets', '--format', format, 'Created-By: Packages'], {
      encoding: 'utf8',
    })
    const [url, suite, component, architecture] =
      targets
        .split('\n')
        .map((line) => line.split('|') as [string, string, string, string])
        .find(([, release]) => /^[a-z]+-updates$/.test(release)) ?? []
    if (!url || !suite || !component || !architecture) throw new Error('apt of this machine reads no updates of Debian')
    const binaryKeys = await readFile('/usr/share/keyrings/debian-archive-keyring.gpg')
    const debian = (await readKeys({ binaryKeys })).map((one) => ({ name: null, text: one.armor() }))
    const source = { type: 'apt', url, suite, components: [component], architectures: [architecture] }
    expect((await readAll({ ...source, keys: debian }, 1)).length).toBeGreaterThan(0)
    const foreign = await upstreams.open({ ...source, keys: keys(key), allowUnsigned: false })
    await expect(foreign.check(null)).rejects.toMatchObject({ code: 'upstream_error', extra: { reason: 'signature' } })
  })
})
