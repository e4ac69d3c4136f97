// Runs clients of apk repositories against the service: what they verify, resolve, install and refuse.
import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { buildApk, buildIndex, makeKey, type SampleApk, type SampleKey } from '../samples/apk.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { apkClients, type ApkRoot, type CommandResult } from './apk-roots.ts'
import { flipByte, startTamperingProxy, type TamperingProxy } from './tampering-proxy.ts'

const MAIN = 'alpine3.20'
const QUIET = 'alpine3.19'
const BUSY = 'alpine3.21'
const MANY = 'alpine3.18'

const stranger = makeKey('stranger.rsa.pub')

describe.each(apkClients().map((client) => [client.name, client] as const))('%s', (_, client) => {
  let service: Service
  let key: Pick<SampleKey, 'name' | 'pem'>
  let roots: ApkRoot[] = []
  beforeAll(async () => {
    await client.prepare()
    service = await startService({ env: { REPO_FORMAT: 'apk' } })
    key = { name: 'svc.rsa.pub', pem: await (await fetch(`${service.apt}/apk/svc.rsa.pub`)).text() }
  })
  afterAll(async () => {
    await service.stop()
    await removeTemporary()
  })
  afterEach(async () => {
    await Promise.all(roots.map((root) => root.remove()))
    roots = []
  })

  async function newRoot({ keys = [key], distribution = MAIN, origin = service.apt } = {}): Promise<ApkRoot> {
    const root = await client.createRoot({ url: `${origin}/apk/${distribution}/main`, keys })
    roots.push(root)
    return root
  }

  async function publish(sample: SampleApk, distribution = MAIN): Promise<void> {
    const { status, body } = await service.upload(buildApk(sample), 'a.apk', { distribution })
    expect(body, JSON.stringify(body)).toMatchObject({ status: 'published' })
    expect(status).toBe(201)
  }

  const expectAdded = ({ code, text }: CommandResult): void => expect(code, text).toBe(0)

  describe('installing', () => {
    it('installs unsigned packages and their dependencies, trusting only the signed index', async () => {
      await publish({
        name: 'tool',
        info: { depend: ['so:libsample.so.1', 'helper~1.2', '!enemy'] },
        files: { 'usr/bin/tool': 'tool\n' },
      })
      await publish({
        name: 'libsample',
        info: { provides: 'so:libsample.so.1=1.0.0' },
        files: { 'usr/lib/libsample.so.1': 'lib\n' },
      })
      await publish({
        name: 'helper',
        version: '1.2.7-r3',
        arch: 'noarch',
        files: { 'usr/share/helper/x': 'helper\n' },
      })
      await publish({ name: 'helper', version: '1.20-r0', files: { 'usr/share/helper/x': 'another\n' } })
      await publish({ name: 'bystander' })
      const root = await newRoot()
      expectAdded(await root.add('tool'))
      expect(await root.installed()).toEqual({ tool: '1.0-r0', libsample: '1.0-r0', helper: '1.2.7-r3' })
      expect(await root.file('usr/bin/tool')).toBe('tool\n')
      expect(await root.file('usr/share/helper/x')).toBe('helper\n')
    })

    it('does not install a package with a missing dependency', async () => {
      await publish({ name: 'broken', info: { depend: 'bystander>9' } })
      const root = await newRoot()
      expect((await root.add('broken')).code).not.toBe(0)
      expect(await root.installed()).toEqual({})
    })

    it('installs the highest version, upgrades to a newer one, and goes back when that is deleted', async () => {
      for (const version of ['1.9-r0', '1.10_rc1-r0', '1.10_p1-r0', '1.10-r9']) {
        await publish({ name: 'climber', version, files: { 'usr/bin/climber': version } })
      }
      const root = await newRoot()
      expectAdded(await root.add('climber'))
      expect(await root.file('usr/bin/climber')).toBe('1.10_p1-r0')
      await publish({ name: 'climber', version: '1.10_p1-r1', files: { 'usr/bin/climber': 'new' } })
      expectAdded(await root.add('climber'))
      expect(await root.installed()).toEqual({ climber: '1.10_p1-r1' })
      expect(await root.file('usr/bin/climber')).toBe('new')
      expect((await service.call('DELETE', '/artifacts/climber/1.10_p1-r1')).status).toBe(200)
      const later = await newRoot()
      expectAdded(await later.add('climber'))
      expect(await later.installed()).toEqual({ climber: '1.10_p1-r0' })
    })

    it('installs a package that was deleted and uploaded again with other bytes under the same name', async () => {
      const path = 'usr/share/returner/x'
      const url = `${service.apt}/apk/${MAIN}/main/x86_64/returner-1.0-r0.apk`
      await publish({ name: 'returner', files: { [path]: 'before\n' } })
      const before = await fetch(url)
      // Caches in between must revalidate it.
      expect(before.headers.get('cache-control')).toBe('no-cache')
      await before.arrayBuffer()
      expectAdded(await (await newRoot()).add('returner'))
      expect((await service.call('DELETE', '/artifacts/returner')).status).toBe(200)
      await publish({ name: 'returner', files: { [path]: 'after\n' } })
      const revalidated = await fetch(url, { headers: { 'if-none-match': before.headers.get('etag') ?? '' } })
      expect(revalidated.status).toBe(200)
      await revalidated.arrayBuffer()
      const root = await newRoot()
      expectAdded(await root.add('returner'))
      expect(await root.file(path)).toBe('after\n')
    })

    it('downloads a package that has files but declares no size', async () => {
      await publish({ name: 'sizeless', info: { size: null }, files: { 'usr/bin/sizeless': 'x\n' } })
      const root = await newRoot()
      expectAdded(await root.add('sizeless'))
      expect(await root.file('usr/bin/sizeless')).toBe('x\n')
    })

    it('installs a package signed by an unknown key, trusting the index', async () => {
      await publish({ name: 'foreign', signatures: [{ key: stranger, algorithm: 'RSA' }] })
      const root = await newRoot()
      expectAdded(await root.add('foreign'))
      expect(await root.installed()).toEqual({ foreign: '1.0-r0' })
    })

    it('does not see a package of another distribution', async () => {
      await publish({ name: 'elsewhere' }, QUIET)
      expect((await (await newRoot()).add('elsewhere')).code).not.toBe(0)
    })

    it('reads an index of many packages, in blocks, with the longest accepted values', async () => {
      const text = (length: number) => 'äöü'.repeat(length).slice(0, length)
      const waiting = Array.from({ length: 250 }, (_, index): SampleApk => {
        const depend = index ? `package-${index - 1}` : null
        return { name: `package-${index}`, info: { pkgdesc: text(index), depend }, files: {} }
      })
      waiting.push({
        name: 'heavy',
        info: {
          pkgdesc: text(5000),
          license: 'A'.repeat(500),
          maintainer: text(200),
          depend: 'package-20',
          provides: Array.from({ length: 2500 }, (_, index) => `cmd:a-rather-long-command-${index}=1.0-r0`),
        },
      })
      const uploader = async () => {
        for (let next = waiting.pop(); next; next = waiting.pop()) await publish(next, MANY)
      }
      await Promise.all(Array.from({ length: 8 }, uploader))
      const root = await newRoot({ distribution: MANY })
      expectAdded(await root.add('heavy'))
      expect(Object.keys(await root.installed())).toHaveLength(22)
      // apk writes its database through buffers of fixed size. The next command shows that it could read it back.
      expectAdded(await root.add('package-1'))
    })
  })

  describe('a tampered repository', () => {
    let proxy: TamperingProxy
    const sample: SampleApk = { name: 'target', files: { 'usr/bin/target': 'x'.repeat(5000) } }
    const path = `/apk/${QUIET}/main/x86_64/target-1.0-r0.apk`
    beforeAll(async () => {
      proxy = await startTamperingProxy(service.apt)
      await publish(sample, QUIET)
    })
    afterAll(() => proxy.close())
    beforeEach(() => proxy.tamper((_, body) => body))

    const rootBehindProxy = (keys = [key]) => newRoot({ keys, distribution: QUIET, origin: proxy.url })
    async function expectRefused(root: ApkRoot): Promise<void> {
      const { code, text } = await root.add('target')
      expect(code, text).not.toBe(0)
      expect(await root.installed()).toEqual({})
      expect(await root.file('usr/bin/target')).toBe(null)
    }

    it('is accepted through a proxy that changes nothing', async () => {
      const root = await rootBehindProxy()
      expectAdded(await root.add('target'))
      expect(await root.installed()).toEqual({ target: '1.0-r0' })
    })

    it('refuses an index signed by a key it does not have', async () => {
      await expectRefused(await rootBehindProxy([stranger]))
      await expectRefused(await rootBehindProxy([{ ...stranger, name: key.name }]))
      await expectRefused(await rootBehindProxy([]))
    })

    const records = 'C:Q1AAAAAAAAAAAAAAAAAAAAAAAAAAA=\nP:target\nV:9-r0\nA:x86_64\nS:1\nI:1\n\n'
    it.each<[string, (index: Buffer) => Buffer]>([
      ['changed', (index) => flipByte(index, index.length - 12)],
      ['changed in its signature', (index) => flipByte(index, 200)],
      ['unsigned', () => buildIndex(records)],
      ['signed by another key', () => buildIndex(records, stranger)],
      ['signed by another key under the trusted name', () => buildIndex(records, { ...stranger, name: key.name })],
    ])('refuses an index that was %s', async (_, forge) => {
      proxy.tamper((asked, body) => (asked.endsWith('/APKINDEX.tar.gz') ? forge(body) : body))
      await expectRefused(await rootBehindProxy())
      expect(proxy.changed).toBeGreaterThan(0)
    })

    it.each<[string, (file: Buffer) => Buffer]>([
      ['changed in its middle', (file) => flipByte(file)],
      ['changed at its end', (file) => flipByte(file, file.length - 6)],
      ['cut short', (file) => file.subarray(0, -40)],
    ])('refuses a package that was %s', async (_, forge) => {
      proxy.tamper((asked, body) => (asked === path ? forge(body) : body))
      await expectRefused(await rootBehindProxy())
      expect(proxy.changed).toBeGreaterThan(0)
    })

    it.runIf(client.comparesPackages)('refuses an intact package in the place of another', async () => {
      const evil: SampleApk = { ...sample, files: { 'usr/bin/target': 'evil' } }
      proxy.tamper((asked, body) => (asked === path ? buildApk(evil) : body))
      await expectRefused(await rootBehindProxy())
    })
  })

  describe('many publishes', () => {
    it('show the newest version after each of 10 in quick succession', async () => {
      const root = await newRoot({ distribution: BUSY })
      for (let n = 1; n <= 10; n++) {
        await publish({ name: 'quick', version: `1.${n}-r0` }, BUSY)
        expectAdded(await root.add('quick'))
        expect(await root.installed()).toEqual({ quick: `1.${n}-r0` })
      }
    })

    it('never fail a client while 60 packages are published', async () => {
      const newest = new Map<string, number>()
      let uploading = true
      let reading = true
      let rounds = 0
      const uploaders = ['one', 'two', 'three'].map(async (name) => {
        for (let n = 1; n <= 20; n++) {
          await publish({ name: `stream-${name}`, version: `1.${n}-r0` }, BUSY)
          newest.set(`stream-${name}`, n)
          // A client needs most of a second and a publish some milliseconds, so the publishes are spread over several updates.
          do await new Promise((resolve) => setTimeout(resolve, 200))
          while (reading && rounds < Math.floor(n / 5))
        }
      })
      const uploads = Promise.all(uploaders).finally(() => (uploading = false))
      const readers = [1, 2].map(async () => {
        const root = await newRoot({ distribution: BUSY })
        for (let last = false; !last; rounds++) {
          last = !uploading
          const known = new Map(newest)
          if (known.size === 0) await new Promise((resolve) => setTimeout(resolve, 20))
          else expectAdded(await root.add(...known.keys()))
          const installed = await root.installed()
          for (const [name, n] of known)
            expect(Number(/^1\.(\d+)-r0$/.exec(installed[name] ?? '')?.[1])).toBeGreaterThanOrEqual(n)
        }
        expect(await root.installed()).toEqual({
          'stream-one': '1.20-r0',
          'stream-two': '1.20-r0',
          'stream-three': '1.20-r0',
        })
      })
      await Promise.all([uploads, Promise.all(readers).finally(() => (reading = false))])
      expect(rounds).toBeGreaterThanOrEqual(4)
    })
  })

  it('a downloaded package is identical to the uploaded one', async () => {
    const file = buildApk({ name: 'untouched', signatures: [{ key: stranger }] })
    const { body } = await service.upload(file, 'a.apk', { distribution: MAIN })
    const answer = await fetch(`${service.apt}/apk/${MAIN}/main/x86_64/untouched-1.0-r0.apk`)
    const digest = createHash('sha256')
      .update(Buffer.from(await answer.arrayBuffer()))
      .digest('hex')
    expect(digest).toBe(createHash('sha256').update(file).digest('hex'))
    expect(body.sha256).toBe(digest)
  })
})
