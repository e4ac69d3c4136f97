// Clients of apk repositories against a tree our format made: what they verify, resolve, install and refuse.
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { buildApk, buildIndex, makeKey, type SampleApk } from '../samples/apk.ts'
import { apkClients, type ApkRoot } from './apk-roots.ts'
import { startApkTree, type ApkTree } from './apk-tree.ts'
import { flipByte } from './tampering-proxy.ts'

const key = makeKey('svc.rsa.pub')
const stranger = makeKey('stranger.rsa.pub')

describe.each(apkClients().map((client) => [client.name, client] as const))('%s', (_, client) => {
  let tree: ApkTree
  let roots: ApkRoot[] = []
  beforeAll(() => client.prepare(), 900_000)
  beforeEach(async () => {
    tree = await startApkTree(key)
  })
  afterEach(async () => {
    await Promise.all(roots.map((root) => root.remove()))
    roots = []
    await tree.close()
  })

  async function newRoot(keys = [key]): Promise<ApkRoot> {
    const root = await client.createRoot({ url: tree.url, keys })
    roots.push(root)
    return root
  }
  const publish = (...samples: SampleApk[]) => tree.publish(samples.map((sample) => buildApk(sample)))
  const pathOf = (end: string) => [...tree.files.keys()].find((path) => path.endsWith(end))!

  it('installs unsigned packages with what they depend on, by the signed index alone', async () => {
    await publish(
      {
        name: 'tool',
        info: { depend: ['so:libsample.so.1', 'helper~1.2', '!enemy'] },
        files: { 'usr/bin/tool': 'tool\n' },
      },
      {
        name: 'libsample',
        info: { provides: 'so:libsample.so.1=1.0.0' },
        files: { 'usr/lib/libsample.so.1': 'lib\n' },
      },
      { name: 'helper', version: '1.2.7-r3', arch: 'noarch', files: { 'usr/share/helper/x': 'helper\n' } },
      { name: 'helper', version: '1.20-r0', files: { 'usr/share/helper/x': 'another\n' } },
      { name: 'bystander' },
    )
    const root = await newRoot()
    const { code, text } = await root.add('tool')
    expect(code, text).toBe(0)
    expect(await root.installed()).toEqual({ tool: '1.0-r0', libsample: '1.0-r0', helper: '1.2.7-r3' })
    expect(await root.file('usr/bin/tool')).toBe('tool\n')
    expect(await root.file('usr/share/helper/x')).toBe('helper\n')
  })

  it('takes the highest version, and the next one when it comes', async () => {
    const versions = ['1.9-r0', '1.10_rc1-r0', '1.10_p1-r0', '1.10-r9']
    const samples = versions.map((version) => ({ name: 'tool', version, files: { 'usr/bin/tool': version } }))
    await publish(...samples)
    const root = await newRoot()
    expect((await root.add('tool')).code).toBe(0)
    expect(await root.file('usr/bin/tool')).toBe('1.10_p1-r0')
    await publish(...samples, { name: 'tool', version: '1.10_p1-r1', files: { 'usr/bin/tool': 'new' } })
    expect((await root.add('tool')).code).toBe(0)
    expect(await root.installed()).toEqual({ tool: '1.10_p1-r1' })
    expect(await root.file('usr/bin/tool')).toBe('new')
  })

  it('fetches a package that claims no size but has files', async () => {
    await publish({ name: 'tool', info: { size: null }, files: { 'usr/bin/tool': 'tool\n' } })
    const root = await newRoot()
    expect((await root.add('tool')).code).toBe(0)
    expect(await root.file('usr/bin/tool')).toBe('tool\n')
  })

  it('reads an index of many packages, in blocks, with the longest values that are let in', async () => {
    const text = (length: number) => 'äöü'.repeat(length).slice(0, length)
    const samples = Array.from({ length: 300 }, (_, index): SampleApk => {
      return {
        name: `package-${index}`,
        info: { pkgdesc: text(index), depend: index ? `package-${index - 1}` : null },
        files: {},
      }
    })
    const heavy: SampleApk = {
      name: 'heavy',
      info: {
        pkgdesc: text(5000),
        license: 'A'.repeat(500),
        maintainer: text(200),
        depend: 'package-20',
        provides: Array.from({ length: 2500 }, (_, index) => `cmd:a-rather-long-command-${index}=1.0-r0`),
      },
    }
    await publish(...samples, heavy)
    const root = await newRoot()
    const { code, text: said } = await root.add('heavy')
    expect(code, said).toBe(0)
    expect(Object.keys(await root.installed())).toHaveLength(22)
    // apk writes its database through buffers of fixed size: the next command shows that it could.
    expect((await root.add('package-1')).code).toBe(0)
  })

  it('refuses an index signed by a key it does not have', async () => {
    await publish({ name: 'tool' })
    const root = await newRoot([stranger])
    expect((await root.add('tool')).code).not.toBe(0)
    expect(await root.installed()).toEqual({})
    const impostor = await newRoot([{ ...stranger, name: key.name }])
    expect((await impostor.add('tool')).code).not.toBe(0)
  })

  it('refuses an index that was changed, unsigned, or signed by another', async () => {
    await publish({ name: 'tool' })
    const path = pathOf('APKINDEX.tar.gz')
    const index = tree.files.get(path)!
    const records = 'C:Q1AAAAAAAAAAAAAAAAAAAAAAAAAAA=\nP:tool\nV:9-r0\nA:x86_64\nS:1\nI:1\n\n'
    for (const forged of [flipByte(index, index.length - 12), buildIndex(records), buildIndex(records, stranger)]) {
      tree.files.set(path, forged)
      const root = await newRoot()
      expect((await root.add('tool')).code).not.toBe(0)
      expect(await root.installed()).toEqual({})
    }
  })

  it('refuses a package that was changed', async () => {
    await publish({ name: 'tool', files: { 'usr/bin/tool': 'x'.repeat(5000) } })
    const path = pathOf('tool-1.0-r0.apk')
    const original = tree.files.get(path)!
    for (const forged of [flipByte(original), flipByte(original, original.length - 6), original.subarray(0, -40)]) {
      tree.files.set(path, forged)
      const root = await newRoot()
      expect((await root.add('tool')).code).not.toBe(0)
      expect(await root.file('usr/bin/tool')).toBe(null)
    }
  })

  it.runIf(client.comparesPackages)(
    'refuses a sound package in another’s place, even one signed by a key it has',
    async () => {
      const sample: SampleApk = { name: 'tool', files: { 'usr/bin/tool': 'good' } }
      await publish(sample)
      const evil = { ...sample, files: { 'usr/bin/tool': 'evil' } }
      for (const forged of [buildApk(evil), buildApk({ ...evil, signatures: [{ key }] })]) {
        tree.files.set(pathOf('tool-1.0-r0.apk'), forged)
        const root = await newRoot()
        expect((await root.add('tool')).code).not.toBe(0)
        expect(await root.file('usr/bin/tool')).toBe(null)
      }
    },
  )

  it('installs a package signed by somebody it does not know, by the index', async () => {
    await publish({ name: 'tool', signatures: [{ key: stranger, algorithm: 'RSA' }] })
    const root = await newRoot()
    expect((await root.add('tool')).code).toBe(0)
    expect(await root.installed()).toEqual({ tool: '1.0-r0' })
  })
})
