// The tests of every rpm client: what it shows, installs, upgrades and refuses, also during publishes.
import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { rpmFormat } from '../../src/formats/rpm/index.ts'
import { LONGEST_WAIT_MS } from '../../src/serve/pair-reading.ts'
import { openKeys, type Keys } from '../../src/publish/signing/keys.ts'
import { need } from '../need.ts'
import { buildRpm, type SampleRpm } from '../samples/rpm.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import type { CommandResult } from './command.ts'
import type { RpmClient, RpmRoot, RpmRootOptions } from './rpm-root.ts'
import { flipByte, startTamperingProxy, type TamperingProxy } from './tampering-proxy.ts'

export interface RpmSuite {
  service(): Service
  newRoot(options?: Partial<RpmRootOptions> & { distribution?: string }): Promise<RpmRoot>
  /** Uploads a package and expects it to be published. */
  publish(sample: SampleRpm, distribution?: string): Promise<Published>
  publishFile(file: Uint8Array, distribution?: string): Promise<Published>
}

export interface Published {
  /** result and message of the gpg step */
  gpg: string
  message: string
  warnings: string[]
  /** of the published file */
  sha256: string
}

/** @param main the distribution that most tests share @param more further tests only for this client */
export function rpmClientSuite(
  client: RpmClient,
  [main, quiet, busy]: [string, string, string],
  more: (suite: RpmSuite) => void,
): void {
  let service: Service
  let key: string
  let foreign: Keys
  let work: string
  let roots: RpmRoot[] = []

  beforeAll(async () => {
    need(...client.needs, 'createrepo-c')
    work = await mkdtemp(join(tmpdir(), 'rpm-client-'))
    service = await startService({ env: { REPO_FORMAT: 'rpm', IMPORT_DIRECTORIES: work } })
    key = await (await fetch(`${service.rpm}/repos/gpg.key`)).text()
    foreign = await openKeys(join(work, 'foreign'), new Date(Date.now() - 86_400_000))
  })
  afterAll(async () => {
    await service.stop()
    await removeTemporary()
    if (work) await rm(work, { recursive: true })
  })
  afterEach(async () => {
    await Promise.all(roots.map((root) => root.dispose()))
    roots = []
  })

  const baseUrl = (distribution: string) => `${service.rpm}/repos/${distribution}/x86_64/`

  async function newRoot({
    distribution = main,
    ...options
  }: Partial<RpmRootOptions> & { distribution?: string } = {}): Promise<RpmRoot> {
    const root = await client.createRoot({ url: baseUrl(distribution), key, ...options })
    roots.push(root)
    return root
  }

  async function publishFile(file: Uint8Array, distribution = main): Promise<Published> {
    const { status, body } = await service.upload(file, 'a.rpm', { distribution })
    expect(body, JSON.stringify(body)).toMatchObject({ status: 'published' })
    expect(status).toBe(201)
    const steps = body.validation.steps as { name: string; message: string }[]
    const message = steps.find(({ name }) => name === 'gpg')?.message ?? ''
    return { gpg: body.pipeline.gpg, message, warnings: body.warnings, sha256: body.sha256 }
  }
  const publish = async (sample: SampleRpm, distribution = main) => publishFile(await buildRpm(sample), distribution)

  /** The file, signed with these keys. */
  async function signedBy(keys: Keys, file: Uint8Array): Promise<Buffer> {
    const [from, to] = [join(work, 'unsigned.rpm'), join(work, 'signed.rpm')]
    await writeFile(from, file)
    await rm(to, { force: true })
    await rpmFormat.sign!(from, to, keys, new Date())
    return readFile(to)
  }

  /** Fails when the client reports anything about the repository, including warnings. */
  const expectClean = ({ code, text }: CommandResult): void => {
    expect(text.split('\n').filter((line) => /^(warning|error|W|E):|verification failed|mismatch/i.test(line))).toEqual(
      [],
    )
    expect(code, text).toBe(0)
  }
  const expectRefused = ({ code, text }: CommandResult, message: RegExp): void => {
    expect(text).toMatch(message)
    expect(code, text).not.toBe(0)
  }

  const readme = (name: string, content: string) => [{ path: `/usr/share/${name}/readme`, content }]

  describe('installing', () => {
    it('refreshes, installs, upgrades over a publish, and removes', async () => {
      const path = 'usr/share/traveller/readme'
      await publish({ name: 'traveller', files: readme('traveller', 'one\n') })
      const root = await newRoot()
      // zypper cannot read a database that has become empty.
      await publish({ name: 'companion' })
      expectClean(await root.refresh())
      expectClean(await root.install('traveller', 'companion'))
      expect(await root.installed()).toEqual({ companion: '1.0-1', traveller: '1.0-1' })
      expect(await root.file(path)).toBe('one\n')

      await publish({ name: 'traveller', release: '2', files: readme('traveller', 'two\n') })
      expectClean(await root.upgrade())
      expect(await root.installed()).toEqual({ companion: '1.0-1', traveller: '1.0-2' })
      expect(await root.file(path)).toBe('two\n')
      expectClean(await root.remove('traveller'))
      expect(await root.installed()).toEqual({ companion: '1.0-1' })
      expect(await root.file(path)).toBe(null)
    })

    it('imports the key from the URL in the configuration', async () => {
      await publish({ name: 'key-by-address' })
      const root = await newRoot({ key: `${service.rpm}/repos/gpg.key` })
      expectClean(await root.install('key-by-address'))
      expect(await root.installed()).toEqual({ 'key-by-address': '1.0-1' })
    })

    it('is configured with the .repo file of the service', async () => {
      await publish({ name: 'by-repo-file' })
      const root = await newRoot()
      const answer = await fetch(`${service.rpm}/repos/${main}.repo`)
      expect(answer.status).toBe(200)
      await root.useRepoFile(await answer.text())
      expectClean(await root.refresh())
      expectClean(await root.install('by-repo-file'))
      expect(await root.installed()).toEqual({ 'by-repo-file': '1.0-1' })
    })

    it('installs dependencies by version, provides, file and choice', async () => {
      await publish({ name: 'part-engine', version: '2.0' })
      await publish({ name: 'part-radio', arch: 'noarch', provides: ['wireless = 3'] })
      await publish({ name: 'part-tool', files: [{ path: '/usr/bin/part-tool', content: '#!', mode: 0o100755 }] })
      await publish({ name: 'part-extra' })
      await publish({
        name: 'whole-car',
        requires: ['part-engine >= 2.0', 'wireless >= 3', '/usr/bin/part-tool', '(absent or part-extra)'],
        conflicts: ['part-engine < 1.9'],
        obsoletes: ['old-car < 5'],
        recommends: ['part-absent'],
      })
      await publish({ name: 'broken-car', requires: ['part-engine >= 9'] })
      const root = await newRoot()
      expectClean(await root.install('whole-car'))
      const installed = Object.keys(await root.installed()).sort()
      expect(installed).toEqual(['part-engine', 'part-extra', 'part-radio', 'part-tool', 'whole-car'])
      expectRefused(await root.install('broken-car'), client.messages.nothingProvides)
      expect(Object.keys(await root.installed())).toHaveLength(5)
    })

    it('shows every version in rpm’s order and installs the highest', async () => {
      const versions = ['1:0.1-1', '2.0^git3-1', '2.0-10', '2.0-9', '2.0~rc1-1', '1.10-1', '1.9-1']
      for (const evr of [...versions].sort()) {
        const [, epoch, version, release] = /^(?:(\d+):)?(.*)-(.*)$/.exec(evr)!
        await publish({
          name: 'many-versions',
          version: version!,
          release: release!,
          ...(epoch ? { epoch: Number(epoch) } : {}),
        })
      }
      const root = await newRoot()
      expectClean(await root.refresh())
      expect(await root.versions('many-versions')).toEqual(versions)
      expectClean(await root.install('many-versions'))
      expect(await root.installed()).toEqual({ 'many-versions': '1:0.1-1' })
    })

    it('no longer offers a version that was deleted', async () => {
      await publish({ name: 'stayer' })
      await publish({ name: 'leaver', version: '1' })
      await publish({ name: 'leaver', version: '2' })
      const root = await newRoot()
      expectClean(await root.refresh())
      expect(await root.versions('leaver')).toEqual(['2-1', '1-1'])
      expect((await service.call('DELETE', '/artifacts/leaver/2-1')).status).toBe(200)
      expectClean(await root.refresh())
      expect(await root.versions('leaver')).toEqual(['1-1'])
      expectClean(await root.install('leaver', 'stayer'))
      expect(await root.installed()).toEqual({ leaver: '1-1', stayer: '1.0-1' })
      expect((await service.call('DELETE', '/artifacts/leaver')).status).toBe(200)
      expectClean(await root.remove('leaver'))
      expectClean(await root.refresh())
      expect(await root.versions('leaver')).toEqual([])
    })

    it('installs a package that was deleted and uploaded again with other bytes', async () => {
      const path = 'usr/share/returner/readme'
      await publish({ name: 'returner', files: readme('returner', 'before\n') })
      const root = await newRoot()
      expectClean(await root.download('returner'))
      expect((await service.call('DELETE', '/artifacts/returner')).status).toBe(200)
      await publish({ name: 'returner', files: readme('returner', 'after\n') })
      expectClean(await root.refresh())
      expectClean(await root.install('returner'))
      expect(await root.file(path)).toBe('after\n')
    })

    it('does not offer a package of another distribution', async () => {
      await publish({ name: 'elsewhere' }, quiet)
      const root = await newRoot()
      expectClean(await root.refresh())
      expect(await root.versions('elsewhere')).toEqual([])
    })
  })

  describe('signatures of packages', () => {
    it('an unsigned package is installed with the signature of the repository', async () => {
      const file = await buildRpm({ name: 'came-unsigned' })
      const { gpg, message, sha256 } = await publishFile(file)
      expect([gpg, message]).toEqual(['signed', 'received unsigned; signed with the repository key'])
      expect(sha256).not.toBe(createHash('sha256').update(file).digest('hex'))
      expectClean(await (await newRoot()).install('came-unsigned'))
    })

    it('a package signed by an unknown key is installed with the signature of the repository', async () => {
      const { gpg, message, warnings } = await publishFile(
        await signedBy(foreign, await buildRpm({ name: 'came-foreign' })),
      )
      expect(gpg).toBe('signed')
      expect(warnings).toContain(message)
      expect(message).toContain('signed by the unknown key')
      expect(message).toContain(foreign.openpgp.fingerprint.slice(-16))
      const root = await newRoot()
      expectClean(await root.install('came-foreign'))
      expect(await root.installed()).toEqual({ 'came-foreign': '1.0-1' })
    })

    it('a package signed by the key of the repository is served unchanged', async () => {
      const ours = await openKeys(join(service.reposDir, 'gnupg'), new Date())
      const file = await signedBy(ours, await buildRpm({ name: 'came-signed' }))
      const { gpg, message, sha256 } = await publishFile(file)
      expect([gpg, sha256]).toEqual(['signed', createHash('sha256').update(file).digest('hex')])
      expect(message).toBe(`signed by the known key ${ours.openpgp.fingerprint.slice(-16)}`)
      const { body } = await service.call('GET', '/artifacts/came-signed')
      const recorded = (body.validation_steps as { name: string; passed: boolean }[]).find(({ name }) => name === 'gpg')
      expect(recorded).toMatchObject({ passed: true, message })
      expectClean(await (await newRoot()).install('came-signed'))
    })

    describe('of an import source', () => {
      let vendor: Keys
      let source: { id: number }
      const files: Record<string, Buffer> = {}
      const keyFile = async () => (await fetch(`${service.rpm}/repos/gpg.key`)).text()
      const keep = (on: boolean) => service.call('PATCH', '/settings/', { validation: { keep_vendor_signatures: on } })

      beforeAll(async () => {
        const upstream = join(work, 'upstream')
        vendor = await openKeys(join(work, 'vendor'), new Date(Date.now() - 86_400_000))
        await mkdir(upstream)
        for (const name of ['came-from-vendor', 'stays-vendor']) {
          files[name] = await signedBy(vendor, await buildRpm({ name }))
          await writeFile(join(upstream, `${name}-1.0-1.x86_64.rpm`), files[name])
        }
        execFileSync('createrepo_c', ['--quiet', upstream])
        const repomd = join(upstream, 'repodata/repomd.xml')
        await writeFile(`${repomd}.asc`, await vendor.openpgp.detach(await readFile(repomd), new Date()))
        const { body } = await service.call('POST', '/import/sources', {
          ...{ name: 'vendor', type: 'rpm', url: pathToFileURL(upstream).href },
          gpg_key: vendor.openpgp.publicKeyArmored,
        })
        source = body
        await service.call('POST', `/import/sources/${source.id}/sync`)
      })

      const importOne = async (name: string) => {
        const { body } = await service.call('POST', '/import/packages', {
          ...{ source_id: source.id, package: name, version: '1.0-1', arch: 'x86_64' },
          distribution: main,
        })
        expect(body, JSON.stringify(body)).toMatchObject({ status: 'published', pipeline: { gpg: 'signed' } })
        return body.sha256 === createHash('sha256').update(files[name]!).digest('hex')
      }

      /** The client's reaction to an index that the vendor signed instead of us. */
      async function refreshOfTheirIndex(): Promise<CommandResult> {
        const proxy = await startTamperingProxy(service.rpm)
        try {
          const repomd = Buffer.from(await (await fetch(`${baseUrl(main)}repodata/repomd.xml`)).arrayBuffer())
          const theirs = Buffer.from(await vendor.openpgp.detach(repomd, new Date()))
          proxy.tamper((path, body) => (path.endsWith('/repomd.xml.asc') ? theirs : body))
          const url = `${proxy.url}/repos/${main}/x86_64/`
          const root = await newRoot({ url, key: `${service.rpm}/repos/gpg.key` })
          return await root.refresh()
        } finally {
          await proxy.close()
        }
      }

      it('are verified and replaced, so that clients need our key alone and take no index by another', async () => {
        expect(await importOne('came-from-vendor')).toBe(false)
        expect(await keyFile()).toBe(key)
        const root = await newRoot()
        expectClean(await root.install('came-from-vendor'))
        expectRefused(await refreshOfTheirIndex(), client.messages.badSignature)
      })

      it('stay where the settings say so, and clients get that key with ours, also for the index', async () => {
        // This client already knew the repository before.
        const early = await newRoot({ key: `${service.rpm}/repos/gpg.key` })
        expectClean(await early.refresh())
        expect((await keep(true)).status).toBe(200)
        try {
          expect(await importOne('stays-vendor')).toBe(true)
        } finally {
          await keep(false)
        }
        const keys = await keyFile()
        expect(keys.startsWith(key.trimEnd())).toBe(true)
        expect(keys.match(/BEGIN PGP PUBLIC KEY BLOCK/g)).toHaveLength(2)
        for (const root of [early, await newRoot({ key: `${service.rpm}/repos/gpg.key` })]) {
          expectClean(await root.refresh())
          expectClean(await root.install('stays-vendor', 'came-unsigned'))
          expect(await root.installed()).toEqual({ 'stays-vendor': '1.0-1', 'came-unsigned': '1.0-1' })
        }
        // With only our key the client refuses it.
        expect((await (await newRoot()).install('stays-vendor')).code).not.toBe(0)
        // This is the reason why it is not the default.
        expect((await refreshOfTheirIndex()).code).toBe(0)
      })
    })

    it('a package with a forged signature of that key is refused and never published', async () => {
      const ours = await openKeys(join(service.reposDir, 'gnupg'), new Date())
      const file = await signedBy(ours, await buildRpm({ name: 'came-forged' }))
      // Changes a letter of the description, which is in the signed header.
      const at = file.indexOf('It exists for tests')
      file[at] = 'i'.charCodeAt(0)
      const { status, body } = await service.upload(file, 'a.rpm', { distribution: main })
      expect(status, JSON.stringify(body)).toBeGreaterThanOrEqual(400)
      const root = await newRoot()
      expectClean(await root.refresh())
      expect(await root.versions('came-forged')).toEqual([])
    })

    it('a package that the settings leave unsigned is refused by the client', async () => {
      const setting = (on: boolean) => service.call('PATCH', '/settings/', { validation: { sign_packages: on } })
      expect((await setting(false)).status).toBe(200)
      try {
        expect(await publish({ name: 'stays-unsigned' }, quiet)).toMatchObject({ gpg: 'unsigned' })
        await publishFile(await signedBy(foreign, await buildRpm({ name: 'stays-foreign' })), quiet)
      } finally {
        expect((await setting(true)).status).toBe(200)
      }
      const root = await newRoot({ distribution: quiet })
      expectClean(await root.refresh())
      expectRefused(await root.install('stays-unsigned'), client.messages.unsignedPackage)
      expect((await root.install('stays-foreign')).code).not.toBe(0)
      expect(await root.installed()).toEqual({})
    })
  })

  describe('a tampered repository', () => {
    let proxy: TamperingProxy
    beforeAll(async () => {
      proxy = await startTamperingProxy(service.rpm)
      await publish({ name: 'target', files: readme('target', 'x'.repeat(5000)) }, quiet)
    })
    afterAll(() => proxy.close())
    beforeEach(() => proxy.tamper((_, body) => body))

    const rootBehindProxy = (options: Partial<RpmRootOptions> = {}) =>
      newRoot({ url: `${proxy.url}/repos/${quiet}/x86_64/`, ...options })

    it('is accepted through a proxy that changes nothing', async () => {
      const root = await rootBehindProxy()
      expectClean(await root.refresh())
      expectClean(await root.install('target'))
      expect(proxy.changed).toBe(0)
    })

    it.each<[string, (path: string, body: Buffer) => Buffer | Promise<Buffer>]>([
      [
        'a changed repomd.xml',
        (path, body) =>
          path.endsWith('/repomd.xml') ? Buffer.from(String(body).replace('<revision>', '<revision>1')) : body,
      ],
      ['a changed signature', (path, body) => (path.endsWith('/repomd.xml.asc') ? otherSignature(body) : body)],
      ['a signature by another key', (path, body) => (path.endsWith('/repomd.xml.asc') ? forgedSignature : body)],
      ['an empty signature', (path, body) => (path.endsWith('/repomd.xml.asc') ? Buffer.alloc(0) : body)],
    ])('is refused for %s and leaves nothing behind', async (_, change) => {
      const repomd = Buffer.from(await (await fetch(`${baseUrl(quiet)}repodata/repomd.xml`)).arrayBuffer())
      forgedSignature = Buffer.from(await foreign.openpgp.detach(repomd, new Date()))
      const root = await rootBehindProxy()
      proxy.tamper(change as (path: string, body: Buffer) => Buffer)
      const result = await root.refresh()
      expect(proxy.changed).toBeGreaterThan(0)
      expectRefused(result, client.messages.badSignature)
      expect((await root.install('target')).code).not.toBe(0)
      expect(await root.installed()).toEqual({})
    })

    it('is refused for a changed primary by its digest', async () => {
      const root = await rootBehindProxy()
      proxy.tamper((path, body) => (path.endsWith('-primary.xml.gz') ? flipByte(body) : body))
      const result = await root.refresh()
      expect(proxy.changed).toBeGreaterThan(0)
      expectRefused(result, client.messages.badIndex)
      expect((await root.install('target')).code).not.toBe(0)
      expect(await root.installed()).toEqual({})
    })

    it('is refused for a changed package by its digest', async () => {
      const root = await rootBehindProxy()
      expectClean(await root.refresh())
      proxy.tamper((path, body) => (path.endsWith('.rpm') ? flipByte(body) : body))
      const result = await root.install('target')
      expect(proxy.changed).toBeGreaterThan(0)
      expectRefused(result, client.messages.badPackage)
      expect(await root.installed()).toEqual({})
      expect(await root.file('usr/share/target/readme')).toBe(null)
    })

    it('is refused with another key', async () => {
      const root = await rootBehindProxy({ key: foreign.openpgp.publicKeyArmored, importsKeys: false })
      expectRefused(await root.refresh(), client.messages.badSignature)
      expect((await root.install('target')).code).not.toBe(0)
      expect(await root.installed()).toEqual({})
    })

    let forgedSignature: Buffer
    /** A well-formed signature by the same key over other bytes. */
    function otherSignature(armored: Buffer): Buffer {
      const lines = String(armored).split('\n')
      const at = lines.findIndex((line, index) => index > 3 && /^[A-Za-z0-9+/]{60,}$/.test(line))
      lines[at + 2] = [...(lines[at + 2] as string)].reverse().join('')
      return Buffer.from(lines.filter((line) => !/^=[A-Za-z0-9+/]{4}$/.test(line)).join('\n'))
    }
  })

  /**
   * Refreshes during publishes. The server waits three seconds for the second request of a pair: a client that the machine
   * stops for longer may get an index and the signature of another one, and tries again.
   */
  async function refreshInTime(root: RpmRoot): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const began = performance.now()
      const result = await root.refresh()
      if (result.code === 0 || attempt === 5 || performance.now() - began < LONGEST_WAIT_MS) {
        expectClean(result)
        return
      }
    }
  }

  describe('many publishes', () => {
    it('show the newest version after each of 15 in quick succession', async () => {
      const root = await newRoot({ distribution: busy })
      for (let n = 1; n <= 15; n++) {
        await publish({ name: 'quick', release: String(n) }, busy)
        expectClean(await root.refresh())
        expect((await root.versions('quick'))[0]).toBe(`1.0-${n}`)
      }
      expect(await root.versions('quick')).toHaveLength(15)
    })

    it('never fail a refresh or a download while 60 packages are published', async () => {
      const newest = new Map<string, number>()
      let uploading = true
      let reading = true
      let refreshes = 0
      const uploaders = ['one', 'two', 'three'].map(async (name) => {
        for (let n = 1; n <= 20; n++) {
          await publish({ name: `stream-${name}`, release: String(n) }, busy)
          newest.set(name, n)
          // A client needs about a second and a publish some milliseconds, so the publishes are spread over several downloads.
          do await new Promise((resolve) => setTimeout(resolve, 400))
          while (reading && refreshes < Math.floor(n / 5))
        }
      })
      const uploads = Promise.all(uploaders).finally(() => (uploading = false))
      const readers = Array.from({ length: client.readers }, async () => {
        const root = await newRoot({ distribution: busy })
        do {
          const known = new Map(newest)
          await refreshInTime(root)
          refreshes++
          for (const [name, n] of known) {
            const [version = ''] = await root.versions(`stream-${name}`)
            expect(Number(version.slice(4))).toBeGreaterThanOrEqual(n)
          }
          if (known.size > 0) expectClean(await root.download(...[...known.keys()].map((name) => `stream-${name}`)))
        } while (uploading)
        await refreshInTime(root)
        for (const name of newest.keys()) expect((await root.versions(`stream-${name}`))[0]).toBe('1.0-20')
        expectClean(await root.install(...[...newest.keys()].map((name) => `stream-${name}`)))
      })
      await Promise.all([uploads, Promise.all(readers).finally(() => (reading = false))])
      expect(refreshes).toBeGreaterThanOrEqual(4)
    })

    it('keep the files of the previous index available by digest', async () => {
      await publish({ name: 'overtaken', release: '1' }, busy)
      const repomd = await (await fetch(`${baseUrl(busy)}repodata/repomd.xml`)).text()
      await publish({ name: 'overtaken', release: '2' }, busy)
      const named = [...repomd.matchAll(/<location href="([^"]+)"/g)].map(([, href]) => href as string)
      expect(named).toHaveLength(3)
      for (const href of named) {
        const answer = await fetch(baseUrl(busy) + href)
        expect([href, answer.status]).toEqual([href, 200])
        const digest = createHash('sha256')
          .update(Buffer.from(await answer.arrayBuffer()))
          .digest('hex')
        expect(href).toContain(digest)
      }
    })
  })

  more({ service: () => service, newRoot, publish, publishFile })
}
