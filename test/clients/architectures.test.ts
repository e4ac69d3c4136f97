// Distributions with several architectures: one publish gives each client the packages of its architecture and those for all.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { need } from '../need.ts'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { buildRpm } from '../samples/rpm.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { apkClients } from './apk-roots.ts'
import { createAptRoot } from './apt-root.ts'
import { dnf } from './dnf-root.ts'
import { zypper } from './zypper-root.ts'

let service: Service
beforeAll(async () => {
  need(...dnf.needs, ...zypper.needs)
  const env = {
    REPO_FORMAT: 'all',
    SVC_ARCHITECTURES: 'amd64,arm64',
    SVC_DISTRIBUTIONS: 'bookworm,rocky9,opensuse-leap-15.6,alpine3.20',
  }
  service = await startService({ env })
})
afterAll(async () => {
  await service.stop()
  await removeTemporary()
})

async function publish(file: Uint8Array, distribution: string): Promise<Record<string, any>> {
  const { status, body } = await service.upload(file, 'a', { distribution })
  expect([status, body.status], JSON.stringify(body)).toEqual([201, 'published'])
  return body
}
const text = async (address: string) => (await fetch(address)).text()

test('the listing has all architectures, and the first one as before', async () => {
  const { body } = await service.call('GET', '/distributions/')
  expect(body.distributions.map((one: any) => [one.codename, one.arch, one.architectures])).toEqual([
    ['bookworm', 'amd64', ['amd64', 'arm64']],
    ['rocky9', 'x86_64', ['x86_64', 'aarch64']],
    ['opensuse-leap-15.6', 'x86_64', ['x86_64', 'aarch64']],
    ['alpine3.20', 'x86_64', ['x86_64', 'aarch64']],
  ])
})

describe('deb', () => {
  const deb = (name: string, arch: string, fields: Record<string, string> = {}, version = '1.0') =>
    buildDeb({ name, arch, version, fields })

  test('apt of each architecture updates, resolves and downloads', async () => {
    await publish(await deb('native', 'amd64'), 'bookworm')
    await publish(await deb('native', 'arm64', { Depends: 'shared' }, '2.0'), 'bookworm')
    await publish(await deb('shared', 'all'), 'bookworm')
    const key = await text(`${service.apt}/repos/gpg.key`)
    for (const [arch, version] of [
      ['amd64', '1.0'],
      ['arm64', '2.0'],
    ] as const) {
      const apt = await createAptRoot({ url: `${service.apt}/repos`, suite: 'bookworm', key, arch })
      expect(await apt.update()).toMatchObject({ code: 0 })
      expect(await apt.versions('native'), arch).toEqual([version])
      expect(await apt.versions('shared'), arch).toEqual(['1.0'])
      expect((await apt.download('native')).includes('debian-binary')).toBe(true)
      await apt.remove()
    }
    const release = await text(`${service.apt}/repos/dists/bookworm/Release`)
    expect(release).toContain('\nArchitectures: amd64 arm64\n')
    expect(release.match(/main\/binary-\w+\/Packages$/gm)).toEqual([
      'main/binary-amd64/Packages',
      'main/binary-arm64/Packages',
    ])
  })

  test('a dependency is met inside its architecture, by packages for all, and across as Multi-Arch says', async () => {
    await publish(await deb('only-arm', 'arm64'), 'bookworm')
    await publish(await deb('tool', 'arm64', { 'Multi-Arch': 'foreign' }), 'bookworm')
    await publish(await deb('language', 'arm64', { 'Multi-Arch': 'allowed' }), 'bookworm')
    const missingOf = async (name: string, arch: string, depends: string) =>
      (await publish(await deb(name, arch, { Depends: depends }), 'bookworm'))['validation'].deps_missing
    expect(await missingOf('needs-1', 'amd64', 'only-arm')).toEqual(['only-arm'])
    expect(await missingOf('needs-2', 'arm64', 'only-arm, shared')).toEqual([])
    expect(await missingOf('needs-3', 'amd64', 'tool, language')).toEqual(['language'])
    expect(await missingOf('needs-4', 'amd64', 'language:any, only-arm:any')).toEqual(['only-arm:any'])
    expect(await missingOf('needs-5', 'amd64', 'only-arm:arm64')).toEqual([])
    expect(await missingOf('needs-6', 'all', 'only-arm')).toEqual([])
  })

  test('Contents of each architecture has its own files', async () => {
    const listed = async (arch: string) => {
      const answer = await fetch(`${service.apt}/repos/dists/bookworm/main/Contents-${arch}.gz`)
      if (answer.status !== 200) return ''
      const { gunzipSync } = await import('node:zlib')
      return gunzipSync(Buffer.from(await answer.arrayBuffer())).toString()
    }
    await expect.poll(() => listed('arm64'), { interval: 1000 }).toContain('only-arm')
    const amd64 = await listed('amd64')
    expect(amd64).toContain('shared')
    expect(amd64).not.toContain('only-arm')
  })
})

describe.each([
  [dnf, 'rocky9'],
  [zypper, 'opensuse-leap-15.6'],
] as const)('rpm', (client, distribution) => {
  test(`${client.name} of each architecture refreshes, resolves and downloads`, async () => {
    await publish(await buildRpm({ name: 'native' }), distribution)
    await publish(
      await buildRpm({ name: 'native', arch: 'aarch64', version: '2.0', requires: ['shared'] }),
      distribution,
    )
    await publish(await buildRpm({ name: 'shared', arch: 'noarch' }), distribution)
    const key = await text(`${service.rpm}/repos/gpg.key`)
    for (const [arch, version] of [
      ['x86_64', '1.0-1'],
      ['aarch64', '2.0-1'],
    ] as const) {
      const url = `${service.rpm}/repos/${distribution}/${arch}`
      const root = await client.createRoot({ url, key, arch })
      expect(await root.refresh()).toMatchObject({ code: 0 })
      expect(await root.versions('native'), arch).toEqual([version])
      expect(await root.versions('shared'), arch).toEqual(['1.0-1'])
      const { code, text: said } = await root.download('native')
      expect(code, said).toBe(0)
      if (arch === 'aarch64') expect(said).toContain('shared')
      await root.dispose()
    }
  })

  test('what is published for one architecture leaves the index of the other untouched', async () => {
    const repomd = (arch: string) => text(`${service.rpm}/repos/${distribution}/${arch}/repodata/repomd.xml`)
    await publish(await buildRpm({ name: 'first' }), distribution)
    const before = { x86_64: await repomd('x86_64'), aarch64: await repomd('aarch64') }
    await publish(await buildRpm({ name: 'second' }), distribution)
    expect(await repomd('aarch64')).toBe(before.aarch64)
    expect(await repomd('x86_64')).not.toBe(before.x86_64)
  })
})

describe.each(apkClients().map((client) => [client.name, client] as const))('apk: %s', (_, client) => {
  beforeAll(() => client.prepare())

  test('each architecture installs its own packages and those for all', async () => {
    const files = { 'usr/share/native': 'x' }
    await publish(buildApk({ name: 'native', files }), 'alpine3.20')
    await publish(buildApk({ name: 'native', arch: 'aarch64', files, info: { depend: 'shared' } }), 'alpine3.20')
    await publish(buildApk({ name: 'shared', arch: 'noarch' }), 'alpine3.20')
    const keys = [{ name: 'svc.rsa.pub', pem: await text(`${service.apt}/apk/svc.rsa.pub`) }]
    for (const [arch, expected] of [
      ['x86_64', { native: '1.0-r0' }],
      ['aarch64', { native: '1.0-r0', shared: '1.0-r0' }],
    ] as const) {
      const root = await client.createRoot({ url: `${service.apt}/apk/alpine3.20/main`, keys, arch })
      const { code, text: said } = await root.add('native')
      expect(code, said).toBe(0)
      expect(await root.installed(), arch).toEqual(expected)
      await root.remove()
    }
    const removed = await service.call('DELETE', '/artifacts/shared')
    expect(removed.status).toBe(200)
    const root = await client.createRoot({ url: `${service.apt}/apk/alpine3.20/main`, keys, arch: 'x86_64' })
    expect((await root.add('shared')).code).not.toBe(0)
    await root.remove()
  })
})

describe('32-bit clients, for which dnf and zypper call the architecture otherwise', () => {
  let small: Service
  beforeAll(async () => {
    const env = {
      ...{ REPO_FORMAT: 'rpm', SVC_ARCHITECTURES: 'amd64,i386,armhf' },
      SVC_DISTRIBUTIONS: 'rocky9,opensuse-leap-15.6',
    }
    small = await startService({ env })
  })
  afterAll(() => small.stop())

  test.each([
    ['dnf', 'i686', dnf, 'rocky9', 'i686'],
    ['dnf', 'i586', dnf, 'rocky9', 'i686'],
    ['dnf', 'i386', dnf, 'rocky9', 'i686'],
    ['dnf', 'armv7hl', dnf, 'rocky9', 'armv7hl'],
    ['zypper', 'i686', zypper, 'opensuse-leap-15.6', 'i686'],
    ['zypper', 'i586', zypper, 'opensuse-leap-15.6', 'i686'],
  ] as const)(
    '%s finds and downloads a package for %s with the served .repo file',
    async (_, own, client, distribution, arch) => {
      const name = `small-${own}`
      const file = await buildRpm({ name, arch: own, files: [{ path: '/usr/share/small', content: 'x' }] })
      const { status } = await small.upload(file, 'a.rpm', { distribution })
      expect(status).toBe(201)
      const key = await text(`${small.rpm}/repos/gpg.key`)
      const root = await client.createRoot({ url: `${small.rpm}/repos/${distribution}/${arch}`, key, arch })
      await root.useRepoFile(await text(`${small.rpm}/repos/${distribution}.repo`))
      expect(await root.refresh()).toMatchObject({ code: 0 })
      expect(await root.versions(name)).toEqual(['1.0-1'])
      const { code, text: said } = await root.download(name)
      expect(code, said).toBe(0)
      await root.dispose()
    },
  )
})
