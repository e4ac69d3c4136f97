// Distributions that the deployment declares: offered to a real apt, and kept as inactive when they are no longer declared.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'
import { createAptRoot, type AptRoot } from './apt-root.ts'

const ACME = {
  codename: 'acme-stable',
  format: 'deb',
  architectures: ['arm64'],
  scanner_distro: 'debian:12',
  full_name: 'ACME stable',
}

let base: string
let service: Service
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'declared-'))
})
afterEach(() => service.stop())
afterAll(() => rm(base, { recursive: true, force: true }))

/** Starts the service on the same data, with these distributions in its file. */
async function start(entries: readonly unknown[], env: Record<string, string> = {}, raw = false): Promise<void> {
  const file = join(base, 'distributions.json')
  await writeFile(file, JSON.stringify({ distributions: entries }))
  service = await startService({
    reposDir: join(base, 'repos'),
    databaseUrl: `pglite://${join(base, 'db')}`,
    env: { REPO_FORMAT: 'all', SVC_DISTRIBUTIONS: 'trixie,noble', SVC_DISTRIBUTIONS_FILE: file, ...env },
    raw,
  })
}

async function rootOf(codename: string): Promise<AptRoot> {
  const key = await (await fetch(`${service.apt}/repos/gpg.key`)).text()
  return createAptRoot({ url: `${service.apt}/repos`, suite: codename, key, arch: 'arm64' })
}
const upload = async (distribution: string, arch = 'arm64', version = '1.0') =>
  service.upload(await buildDeb({ name: 'acme-tool', version, arch }), 'a.deb', { distribution })

test('apt installs from an own distribution for arm64, and only what is declared is offered', async () => {
  await start([ACME])
  const { body } = await service.call('GET', '/distributions/')
  expect(body.distributions.map((one: any) => [one.codename, one.architectures, one.active])).toEqual([
    ['trixie', ['amd64'], true],
    ['noble', ['amd64'], true],
    ['acme-stable', ['arm64'], true],
  ])
  expect((await upload('acme-stable')).body).toMatchObject({ status: 'published', distribution: 'acme-stable' })
  expect((await upload('acme-stable', 'amd64', '2.0')).body).toMatchObject({ code: 'arch_mismatch' })
  expect((await upload('jammy')).body).toMatchObject({ code: 'unknown_distribution' })

  const apt = await rootOf('acme-stable')
  expect(await apt.update()).toMatchObject({ code: 0 })
  expect(await apt.versions('acme-tool')).toEqual(['1.0'])
  expect((await apt.download('acme-tool')).length).toBeGreaterThan(0)
  await apt.remove()
})

test('a definition with other names is published without another change', async () => {
  await start([{ ...ACME, full_name: 'ACME renamed' }])
  const release = async () => (await fetch(`${service.apt}/repos/dists/acme-stable/Release`)).text()
  await expect.poll(release).toContain('Description: Packages for ACME renamed')
})

test('a distribution that is no longer declared is served as it was, takes nothing and can be emptied', async () => {
  await start([])
  const { body } = await service.call('GET', '/distributions/')
  expect(body.distributions.find((one: any) => one.codename === 'acme-stable')).toMatchObject({
    active: false,
    full_name: 'ACME renamed',
    package_count: 1,
  })
  expect(await upload('acme-stable', 'arm64', '2.0')).toMatchObject({
    status: 400,
    body: { code: 'distribution_inactive' },
  })
  const apt = await rootOf('acme-stable')
  expect(await apt.update()).toMatchObject({ code: 0 })
  expect(await apt.versions('acme-tool')).toEqual(['1.0'])

  expect((await service.call('GET', '/sbom/export?distribution=acme-stable')).body.components).toHaveLength(1)
  expect((await service.call('DELETE', '/artifacts/acme-tool')).status).toBe(200)
  expect(await apt.update()).toMatchObject({ code: 0 })
  expect(await apt.versions('acme-tool')).toEqual([])
  await apt.remove()
})

test('the start is refused when a distribution with packages would get another architecture', async () => {
  await start([ACME])
  expect((await upload('acme-stable', 'arm64', '3.0')).status).toBe(201)
  await service.stop()
  await start([{ ...ACME, architectures: ['amd64'] }], {}, true)
  expect((await service.exited).code).toBe(1)
  expect(JSON.stringify(service.log)).toContain(
    'acme-stable has packages for arm64, which is no longer among its architectures',
  )
})

test('a distribution that gets another architecture offers its packages for all in it', async () => {
  const alpine = { codename: 'acme-alpine', format: 'apk', scanner_distro: 'alpine:3.20', architectures: ['x86_64'] }
  await start([ACME, alpine])
  const file = buildApk({ name: 'for-all', arch: 'noarch' })
  expect((await service.upload(file, 'a.apk', { distribution: 'acme-alpine' })).status).toBe(201)
  expect((await upload('acme-stable', 'all', '4.0')).status).toBe(201)
  await service.stop()

  await start([
    { ...ACME, architectures: ['arm64', 'amd64'] },
    { ...alpine, architectures: ['x86_64', 'aarch64'] },
  ])
  const packages = `${service.apt}/repos/dists/acme-stable/main/binary-amd64/Packages`
  await expect.poll(async () => (await fetch(packages)).text()).toContain('Version: 4.0\n')
  expect(await (await fetch(packages)).text()).not.toContain('Version: 3.0\n')
  const served = async (path: string) => (await fetch(`${service.apt}/apk/acme-alpine/main/${path}`)).status
  await expect.poll(() => served('aarch64/APKINDEX.tar.gz')).toBe(200)
  expect(await served('aarch64/for-all-1.0-r0.apk')).toBe(200)
  expect(await served('x86_64/for-all-1.0-r0.apk')).toBe(200)
})

test('every fault of the file is named at the start', async () => {
  await start([{ ...ACME, format: 'msi' }, { codename: 'other' }], {}, true)
  expect((await service.exited).code).toBe(1)
  const log = service.log.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
  expect(log).toContain('distributions[0] "acme-stable": format must be one of deb, rpm, apk')
  expect(log).toContain('distributions[1] other: format is required')
})
