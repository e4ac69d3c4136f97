// Runs apt-get against the service: what it sees, installs, upgrades and refuses, also during publishes.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openKeys } from '../../src/publish/signing/keys.ts'
import { downloadDebs, need } from '../need.ts'
import { buildDeb, type SampleDeb } from '../samples/deb.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { createAptRoot, secondIsOver, type AptRoot, type AptRootOptions, type CommandResult } from './apt-root.ts'
import { flipByte, startTamperingProxy, type TamperingProxy } from './tampering-proxy.ts'

let service: Service
let key: string
let roots: AptRoot[] = []

beforeAll(async () => {
  need('apt', 'apt-file', 'dpkg-dev', 'fakeroot')
  service = await startService()
  key = await (await fetch(`${service.apt}/repos/gpg.key`)).text()
})
afterAll(async () => {
  await service.stop()
  await removeTemporary()
})
afterEach(async () => {
  await Promise.all(roots.map((root) => root.remove()))
  roots = []
})

async function aptRoot(options: Partial<AptRootOptions> = {}): Promise<AptRoot> {
  const root = await createAptRoot({ url: `${service.apt}/repos`, suite: 'bookworm', key, ...options })
  roots.push(root)
  return root
}

async function publishFile(deb: Uint8Array, distribution: string): Promise<void> {
  const { status, body } = await service.upload(deb, 'a.deb', { distribution })
  expect(body, JSON.stringify(body)).toMatchObject({ status: 'published' })
  expect(status).toBe(201)
}

const publish = async (sample: SampleDeb, distribution = 'bookworm') =>
  publishFile(await buildDeb(sample), distribution)

/** Fails when apt reports anything about the repository, including warnings and ignored files. */
function expectClean({ code, text }: CommandResult): void {
  expect(text.split('\n').filter((line) => /^(W|E|Err|Ign):|ignored|not valid yet/.test(line))).toEqual([])
  expect(code, text).toBe(0)
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** The requests of this root's apt, once the access log contains one that matches. */
async function requestsOf(root: AptRoot, wanted: RegExp): Promise<string[]> {
  for (;;) {
    const log = await readFile(join(service.reposDir, 'logs', 'access-apt.log'), 'utf8').catch(() => '')
    const own = log.split('\n').filter((line) => line.endsWith(`"${root.userAgent}"`))
    const requests = own.map((line) => line.replace(/^.*"GET (\S+) HTTP\/1\.1" (\d+) .*$/, '$2 $1'))
    if (requests.some((request) => wanted.test(request))) return requests
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Lines of apt.conf(5) that leave apt one form of the index, because the others have no decompressor. */
function onlyForm(form: string): string {
  const others = ['xz', 'gz', 'bz2', 'lzma', 'lz4', 'zst'].filter((other) => other !== form)
  return others.map((other) => `Acquire::CompressionTypes::${other} "unavailable";`).join('\n')
}

/** The digests of the distribution's current Release by path. */
async function released(codename: string): Promise<Map<string, string>> {
  const text = await (await fetch(`${service.apt}/repos/dists/${codename}/Release`)).text()
  return new Map(
    [...text.matchAll(/^ ([0-9a-f]{64}) +\d+ (\S+)$/gm)].map(([, digest = '', path = '']) => [path, digest]),
  )
}

describe('the setup files', () => {
  const fetchText = async (path: string) => {
    const answer = await fetch(service.apt + path)
    expect(answer.status, path).toBe(200)
    return answer.text()
  }

  it('configure apt with the .sources file alone', async () => {
    await publish({ name: 'by-sources' })
    const root = await aptRoot()
    const sources = join(root.directory, 'etc/apt/sources.list.d')
    await rm(join(sources, 'repository.sources'))
    await rm(join(root.directory, 'etc/apt/keyrings/repository.asc'))
    await writeFile(join(sources, 'gatehouse.sources'), await fetchText('/repos/bookworm.sources'))
    expectClean(await root.update())
    expect(await root.versions('by-sources')).toEqual(['1.0-1'])
    expect((await root.download('by-sources')).length).toBeGreaterThan(0)
  })

  it.each(['bookworm', 'focal'])('of %s include a valid shell script', async (codename) => {
    const script = await fetchText(`/repos/${codename}.sh`)
    expect(execFileSync('sh', ['-n'], { input: script, encoding: 'utf8' })).toBe('')
    // It contains the served .sources file and, for apt 2.0, the key.
    expect(script).toContain(await fetchText(`/repos/${codename}.sources`))
    expect(script.includes('> /etc/apt/keyrings/gatehouse.asc')).toBe(codename === 'focal')
  })
})

describe('installing', () => {
  it('updates, installs, upgrades over a publish, and removes', async () => {
    const file = 'usr/share/traveller/readme'
    await publish({ name: 'traveller', version: '1.0-1', files: { [file]: 'one\n' } })
    const root = await aptRoot()
    expectClean(await root.update())
    expectClean(await root.run('apt-get', 'install', 'traveller'))
    expect(await root.installed()).toEqual({ traveller: '1.0-1' })
    expect(await readFile(join(root.directory, file), 'utf8')).toBe('one\n')

    await publish({ name: 'traveller', version: '1.0-2', files: { [file]: 'two\n' } })
    expectClean(await root.update())
    expectClean(await root.run('apt-get', 'upgrade'))
    expect(await root.installed()).toEqual({ traveller: '1.0-2' })
    expect(await readFile(join(root.directory, file), 'utf8')).toBe('two\n')

    expectClean(await root.run('apt-get', 'install', '--allow-downgrades', 'traveller=1.0-1'))
    expect(await root.installed()).toEqual({ traveller: '1.0-1' })
    expectClean(await root.run('apt-get', 'remove', 'traveller'))
    expect(await root.installed()).toEqual({})
  })

  it('installs dependencies, by version and through provides', async () => {
    await publish({ name: 'part-engine', version: '2.0' })
    await publish({ name: 'part-radio', fields: { Provides: 'wireless (= 3)' }, arch: 'all' })
    await publish({ name: 'whole-car', fields: { Depends: 'part-engine (>= 2.0~), wireless (>= 3) | absent' } })
    await publish({ name: 'broken-car', fields: { Depends: 'part-engine (>= 9)' } })
    const root = await aptRoot()
    expectClean(await root.update())
    expectClean(await root.run('apt-get', 'install', 'whole-car'))
    expect(Object.keys(await root.installed()).sort()).toEqual(['part-engine', 'part-radio', 'whole-car'])
    const { code, text } = await root.run('apt-get', 'install', 'broken-car')
    expect(text).toContain('part-engine (>= 9)')
    expect(code).toBe(100)
  })

  it('shows every version in apt’s order, and packages of architecture all', async () => {
    const versions = ['1:0.1', '2.0', '2.0~rc1-1', '1.10', '1.9+b1', '1.9']
    for (const version of [...versions].sort()) await publish({ name: 'many-versions', version })
    await publish({ name: 'any-machine', arch: 'all', version: '3' })
    const root = await aptRoot()
    expectClean(await root.update())
    expect(await root.versions('many-versions')).toEqual(versions)
    const policy = (await root.run('apt-cache', 'policy', 'many-versions')).text
    expect(policy).toMatch(/Candidate: 1:0\.1$/m)
    expect(policy).toContain('bookworm/main amd64 Packages')
    expect(await root.versions('any-machine')).toEqual(['3'])
    expectClean(await root.run('apt-get', 'install', 'any-machine', 'many-versions=2.0~rc1-1'))
    expect(await root.installed()).toEqual({ 'any-machine': '3', 'many-versions': '2.0~rc1-1' })
  })

  it('no longer offers a version that was deleted', async () => {
    await publish({ name: 'leaver', version: '1' })
    await publish({ name: 'leaver', version: '2' })
    const root = await aptRoot()
    expectClean(await root.update())
    expect(await root.versions('leaver')).toEqual(['2', '1'])
    expect((await service.call('DELETE', '/artifacts/leaver/2')).status).toBe(200)
    expectClean(await root.update())
    expect(await root.versions('leaver')).toEqual(['1'])
    expect((await service.call('DELETE', '/artifacts/leaver')).status).toBe(200)
    expectClean(await root.update())
    expect(await root.versions('leaver')).toEqual([])
  })

  it('does not offer a package of another distribution', async () => {
    await publish({ name: 'elsewhere' }, 'noble')
    const root = await aptRoot()
    expectClean(await root.update())
    expect(await root.versions('elsewhere')).toEqual([])
  })
})

describe('apt downloads', () => {
  it('the index by digest, and not again when nothing changed', async () => {
    await publish({ name: 'by-digest' })
    await secondIsOver(`${service.apt}/repos/dists/bookworm/InRelease`)
    const root = await aptRoot()
    expectClean(await root.update())
    const digest = (await released('bookworm')).get('main/binary-amd64/Packages.xz')
    const index = `200 /repos/dists/bookworm/main/binary-amd64/by-hash/SHA256/${digest}`
    expect(await requestsOf(root, /binary-amd64/)).toEqual(['200 /repos/dists/bookworm/InRelease', index])

    const again = await root.update()
    expectClean(again)
    expect(again.text).toMatch(/^Hit:1 /m)
    expect(again.text).not.toMatch(/^Get:/m)
    const last = '304 /repos/dists/bookworm/InRelease'
    expect(await requestsOf(root, /^304/)).toEqual(['200 /repos/dists/bookworm/InRelease', index, last])
  })

  it.each([
    ['xz', 'Packages.xz'],
    ['gz', 'Packages.gz'],
  ])('the index when it accepts only %s', async (form, file) => {
    await publish({ name: `read-as-${form}` })
    const root = await aptRoot({ config: onlyForm(form) })
    expectClean(await root.update())
    expect(await root.versions(`read-as-${form}`)).toEqual(['1.0-1'])
    const digest = (await released('bookworm')).get(`main/binary-amd64/${file}`)
    expect(await requestsOf(root, /binary-amd64/)).toContain(
      `200 /repos/dists/bookworm/main/binary-amd64/by-hash/SHA256/${digest}`,
    )
  })

  it('the uncompressed index, which is served without a digest', async () => {
    await publish({ name: 'read-as-it-is' })
    const root = await aptRoot({ config: onlyForm('uncompressed') })
    const { code, text } = await root.update()
    expect(text).not.toMatch(/^(W|E|Err):/m)
    expect(code).toBe(0)
    expect(await root.versions('read-as-it-is')).toEqual(['1.0-1'])
    expect(await requestsOf(root, /Packages/)).toContain('200 /repos/dists/bookworm/main/binary-amd64/Packages')
  })

  it('the previous index by digest after another publish', async () => {
    await publish({ name: 'overtaken', version: '1' })
    const before = await released('bookworm')
    await publish({ name: 'overtaken', version: '2' })
    for (const file of ['Packages.gz', 'Packages.xz']) {
      const digest = before.get(`main/binary-amd64/${file}`)
      const answer = await fetch(`${service.apt}/repos/dists/bookworm/main/binary-amd64/by-hash/SHA256/${digest}`)
      expect([file, answer.status]).toEqual([file, 200])
      expect(sha256(Buffer.from(await answer.arrayBuffer()))).toBe(digest)
    }
  })
})

describe('a tampered repository', () => {
  let proxy: TamperingProxy
  beforeAll(async () => {
    proxy = await startTamperingProxy(service.apt)
    await publish({ name: 'target', files: { 'usr/share/target/readme': 'x'.repeat(5000) } }, 'focal')
  })
  afterAll(() => proxy.close())
  beforeEach(() => proxy.tamper((_, body) => body))

  const rootBehindProxy = (options: Partial<AptRootOptions> = {}) =>
    aptRoot({ url: `${proxy.url}/repos`, suite: 'focal', ...options })

  it('is accepted through a proxy that changes nothing', async () => {
    const root = await rootBehindProxy()
    expectClean(await root.update())
    expectClean(await root.run('apt-get', 'install', 'target'))
  })

  it('is refused for a changed InRelease, of which nothing is kept', async () => {
    const root = await rootBehindProxy()
    proxy.tamper((path, body) =>
      path.endsWith('/InRelease') ? Buffer.from(String(body).replace('Label: Gatehouse', 'Label: Gatehousf')) : body,
    )
    const { code, text } = await root.update()
    expect(proxy.changed).toBeGreaterThan(0)
    expect(text).toMatch(/BADSIG|invalid signature|is not signed/i)
    expect(code).toBe(100)
    expect(await root.versions('target')).toEqual([])
  })

  it('is refused for a changed Release or signature when InRelease is unusable', async () => {
    const root = await rootBehindProxy()
    for (const changed of ['/Release', '/Release.gpg']) {
      proxy.tamper((path, body) => {
        if (path.endsWith('/InRelease')) return Buffer.from('nothing of use')
        return path.endsWith(changed) ? flipByte(body) : body
      })
      const { code } = await root.update()
      expect([changed, code]).toEqual([changed, 100])
      expect(await root.versions('target')).toEqual([])
    }
  })

  it.each(['xz', 'gz'])('is refused for a changed Packages.%s by its digest', async (form) => {
    const root = await rootBehindProxy({ config: `Acquire::CompressionTypes::Order { "${form}"; };` })
    proxy.tamper((path, body) => (path.includes('/binary-amd64/') ? flipByte(body) : body))
    const { code, text } = await root.update()
    expect(proxy.changed).toBeGreaterThan(0)
    expect(text).toMatch(/Hash Sum mismatch/)
    expect(code).toBe(100)
    expect(await root.versions('target')).toEqual([])
  })

  it('is refused for a changed package by its digest', async () => {
    const root = await rootBehindProxy()
    expectClean(await root.update())
    proxy.tamper((path, body) => (path.endsWith('.deb') ? flipByte(body) : body))
    const { code, text } = await root.run('apt-get', 'install', 'target')
    expect(proxy.changed).toBeGreaterThan(0)
    expect(text).toMatch(/Hash Sum mismatch/)
    expect(code).toBe(100)
    expect(await root.installed()).toEqual({})
  })

  it('is refused with another key', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'other-key-'))
    const other = await openKeys(directory, new Date())
    await rm(directory, { recursive: true })
    const root = await rootBehindProxy({ key: other.openpgp.publicKeyArmored })
    const { code, text } = await root.update()
    expect(text).toMatch(/NO_PUBKEY|is not signed/)
    expect(code).toBe(100)
    expect(await root.versions('target')).toEqual([])
  })
})

describe('many publishes', () => {
  it('show the newest version after each of 30 in quick succession', async () => {
    const root = await aptRoot({ suite: 'jammy' })
    for (let n = 1; n <= 30; n++) {
      await publish({ name: 'quick', version: `1.${n}` }, 'jammy')
      expectClean(await root.update())
      expect((await root.versions('quick'))[0]).toBe(`1.${n}`)
    }
    expect(await root.versions('quick')).toHaveLength(30)
  })

  it('show the newest version after 30 without an update in between', async () => {
    const root = await aptRoot({ suite: 'jammy' })
    expectClean(await root.update())
    for (let n = 1; n <= 30; n++) await publish({ name: 'burst', version: `1.${n}` }, 'jammy')
    expectClean(await root.update())
    expect((await root.versions('burst'))[0]).toBe('1.30')
    await publish({ name: 'burst', version: '1.31' }, 'jammy')
    expectClean(await root.update())
    expect((await root.versions('burst'))[0]).toBe('1.31')
  })

  it('show the second of two within one second, even to a client that read between them', async () => {
    const root = await aptRoot({ suite: 'jammy' })
    const publishedAt = async () => {
      const { body } = await service.call('GET', '/distributions/')
      const { last_published_at } = (body.distributions as { codename: string; last_published_at: string }[]).find(
        ({ codename }) => codename === 'jammy',
      ) ?? { last_published_at: '' }
      return last_published_at.slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)
    }
    // Rounds are repeated until some pairs fell into one second, which never happens on a slow machine. The result must be
    // right in every round.
    let met = 0
    for (let round = 1; met < 3 && round <= 20; round++) {
      const [first, second] = await Promise.all(
        [1, 2].map((n) => buildDeb({ name: 'twice', version: `${round}.${n}` })),
      )
      await publishFile(first as Buffer, 'jammy')
      const between = await publishedAt()
      expectClean(await root.update())
      await publishFile(second as Buffer, 'jammy')
      if ((await publishedAt()) === between) met++
      expectClean(await root.update())
      expect((await root.versions('twice')).slice(0, 2)).toEqual([`${round}.2`, `${round}.1`])
    }
    console.log(`${met} pairs within one second`)
  })

  it('never fail an update or a download while 60 packages are published', async () => {
    const newest = new Map<string, number>()
    let uploading = true
    const uploaders = ['one', 'two', 'three'].map(async (name) => {
      for (let n = 1; n <= 20; n++) {
        await publish({ name: `stream-${name}`, version: `1.${n}` }, 'noble')
        newest.set(name, n)
      }
    })
    const uploads = Promise.all(uploaders).finally(() => (uploading = false))
    let updates = 0
    const readers = [await aptRoot({ suite: 'noble' }), await aptRoot({ suite: 'noble' })].map(async (root) => {
      do {
        const known = new Map(newest)
        expectClean(await root.update())
        updates++
        for (const [name, n] of known) {
          const [version = ''] = await root.versions(`stream-${name}`)
          expect(Number(version.slice(2))).toBeGreaterThanOrEqual(n)
          await root.download(`stream-${name}`)
        }
      } while (uploading)
      expectClean(await root.update())
      for (const name of newest.keys()) expect((await root.versions(`stream-${name}`))[0]).toBe('1.20')
    })
    await Promise.all([uploads, ...readers])
    expect(updates).toBeGreaterThanOrEqual(2)
  })
})

describe('packages of Debian', () => {
  const NAMES = [
    'hello',
    'sed',
    'grep',
    'gzip',
    'less',
    'cpio',
    'findutils',
    'zstd',
    'adduser',
    'debconf',
    'zlib1g',
    'libstdc++6',
    'bash-completion',
    'netcat-traditional',
  ]
  /** The same packages in other compressions, each in another distribution because their file names are the same. */
  const REPACKED = { jammy: 'gzip', noble: 'zstd', focal: 'none' }
  const offered: { distribution: string; name: string; version: string; file: Buffer; members: string }[] = []
  let directory: string

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'debs-'))
    const fetched = join(directory, 'bookworm')
    await mkdir(fetched)
    downloadDebs(fetched, NAMES)
    for (const name of ['hello', 'adduser', 'zlib1g', 'less']) {
      const [original] = (await readdir(fetched)).filter((file) => file.startsWith(`${name}_`))
      const tree = join(directory, 'tree')
      execFileSync('dpkg-deb', ['-R', join(fetched, original as string), tree])
      for (const [distribution, compression] of Object.entries(REPACKED)) {
        await mkdir(join(directory, distribution), { recursive: true })
        execFileSync(
          'dpkg-deb',
          [`-Z${compression}`, '--root-owner-group', '-b', tree, join(directory, distribution, original as string)],
          { stdio: 'pipe' },
        )
      }
      await rm(tree, { recursive: true })
    }
    for (const distribution of ['bookworm', ...Object.keys(REPACKED)]) {
      for (const filename of await readdir(join(directory, distribution))) {
        const path = join(directory, distribution, filename)
        const field = (wanted: string) => execFileSync('dpkg-deb', ['-f', path, wanted], { encoding: 'utf8' }).trim()
        offered.push({
          distribution,
          name: field('Package'),
          version: field('Version'),
          file: await readFile(path),
          members: execFileSync('ar', ['t', path], { encoding: 'utf8' }),
        })
      }
    }
    for (const { file, distribution } of offered) await publishFile(file, distribution)
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))

  it('include every compression, an epoch and architecture all', () => {
    const members = offered.map(({ members }) => members)
    for (const ending of ['data.tar.xz', 'data.tar.gz', 'data.tar.zst', 'data.tar\n'])
      expect(
        members.some((text) => text.includes(ending)),
        ending,
      ).toBe(true)
    expect(offered.some(({ version }) => version.includes(':'))).toBe(true)
    expect(offered.length).toBeGreaterThanOrEqual(NAMES.length + 12)
  })

  it.each(['bookworm', ...Object.keys(REPACKED)])(
    'downloaded from %s are identical to the uploaded ones',
    async (distribution) => {
      const root = await aptRoot({ suite: distribution })
      expectClean(await root.update())
      for (const { name, version, file } of offered.filter((one) => one.distribution === distribution)) {
        expect([name, sha256(await root.download(name, version))]).toEqual([name, sha256(file)])
      }
    },
  )

  it('have the same fields in the index as dpkg-scanpackages writes', async () => {
    const root = await aptRoot()
    expectClean(await root.update())
    for (const name of NAMES) {
      const shown = (await root.run('apt-cache', 'show', name)).text
      const path = join(
        directory,
        'bookworm',
        (await readdir(join(directory, 'bookworm'))).find((file) => file.startsWith(`${name}_`)) as string,
      )
      const own = execFileSync('dpkg-deb', ['-f', path], { encoding: 'utf8' })
      // apt shows every field of the index, which must include every field of the package.
      for (const line of own.trim().split('\n'))
        expect(shown.split('\n').map((text) => text.trimEnd())).toContain(line.trimEnd())
    }
  })

  it('are found by their files, also by apt-file, some time after the last publish', async () => {
    // Contents follows half a minute after the last publish, so this retries.
    const path = 'main/Contents-amd64.gz'
    const hello = () => released('bookworm').then((files) => files.get(path))
    let contents = ''
    let listed: string | undefined
    while (!/^usr\/bin\/hello +devel\/hello$/m.test(contents)) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      listed = await hello()
      if (!listed) continue
      const answer = await fetch(`${service.apt}/repos/dists/bookworm/${path}`)
      expect(answer.status).toBe(200)
      const bytes = Buffer.from(await answer.arrayBuffer())
      expect(sha256(bytes)).toBe(listed)
      contents = gunzipSync(bytes).toString()
    }
    expect(contents).toMatch(/^usr\/share\/traveller\/readme +misc\/traveller$/m)

    const root = await aptRoot({ config: await readFile('/etc/apt/apt.conf.d/50apt-file.conf', 'utf8') })
    const result = await root.update()
    expectClean(result)
    expect(result.text).toContain('Contents')
    const { text } = await root.run('apt-file', 'search', '-x', '^/usr/bin/hello$')
    expect(text).toContain('hello: /usr/bin/hello')
  })
})
