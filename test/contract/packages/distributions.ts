// /distributions/: the list of distributions, and publishing their indexes again.
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { formats } from '../../../src/formats/index.ts'
import { buildDeb } from '../../samples/deb.ts'
import type { Gate } from '../harness.ts'
import { lastAudited, published } from './seen.ts'

const KEYS = [
  'codename',
  'name',
  'full_name',
  'os',
  'version',
  'format',
  'arch',
  'architectures',
  'component',
  'scanner_distro',
  'package_manager',
  'package_count',
  'active',
  'private',
  'signed_by',
  'last_published_at',
]

export function distributionContract(gate: Gate): void {
  const list = async () =>
    (await gate.call<{ distributions: Record<string, unknown>[]; total: number }>('GET', '/distributions/')).body

  test('every distribution is listed, with `active` as REPO_FORMAT decides', async () => {
    const { distributions, total } = await list()
    expect(total).toBe(formats.flatMap((format) => format.distributions).length)
    expect(distributions).toHaveLength(total)
    for (const distribution of distributions) {
      expect(Object.keys(distribution)).toEqual(KEYS)
      const active = distribution['format'] === 'deb'
      expect(distribution).toMatchObject({
        active,
        signed_by: active ? gate.app.fingerprint : null,
        package_count: expect.any(Number),
      })
    }
    expect(
      distributions
        .filter((d) => d['format'] === 'deb')
        .map((d) => [d['codename'], d['arch'], d['component'], d['scanner_distro']])
        .sort(),
    ).toEqual([
      ['bookworm', 'amd64', 'main', 'debian:12'],
      ['focal', 'amd64', 'main', 'ubuntu:20.04'],
      ['jammy', 'amd64', 'main', 'ubuntu:22.04'],
      ['noble', 'amd64', 'main', 'ubuntu:24.04'],
    ])
  })

  test('packages of a distribution are listed by name, version and architecture, and the counts agree', async () => {
    await gate.upload(await buildDeb({ name: 'counted' }), { distribution: 'jammy' })
    const { body } = await gate.call<{
      codename: string
      packages: { name: string; version: string; arch: string }[]
      total: number
    }>('GET', '/distributions/jammy/packages')
    expect(body).toMatchObject({ codename: 'jammy', total: body.packages.length })
    expect(body.packages).toContainEqual({ name: 'counted', version: '1.0-1', arch: 'amd64' })
    expect(body.packages.map((entry) => `${entry.name} ${entry.version}`).sort()).toEqual(
      (await published(gate, 'jammy')).sort(),
    )
    expect((await list()).distributions.find((d) => d['codename'] === 'jammy')).toMatchObject({
      package_count: body.total,
      last_published_at: expect.stringMatching(/\+00:00$/),
    })
    expect(await gate.call('GET', '/distributions/warty/packages')).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    })
  })

  test('init publishes every active index again, even a lost one', async () => {
    const before = await published(gate, 'jammy')
    await rm(join(gate.reposDir, 'dists', 'jammy'))
    await rm(join(gate.reposDir, '.generations', 'deb', 'jammy'), { recursive: true })
    const { status, body } = await gate.call<{ results: object[] }>('POST', '/distributions/init')
    expect([status, body]).toMatchObject([200, { status: 'ok', repo_format: 'apt' }])
    expect(body.results).toHaveLength(4)
    for (const result of body.results)
      expect(result).toEqual({ codename: expect.any(String), format: 'deb', ok: true, message: expect.any(String) })
    expect(await published(gate, 'jammy')).toEqual(before)
    expect(await lastAudited(gate, { action: 'INIT_DISTS' })).toMatchObject({ result: 'SUCCESS', user: 'admin-person' })
  })

  test('init needs a signing key', async () => {
    const key = join(gate.reposDir, 'gnupg', 'signing-key.asc')
    await rename(key, `${key}.away`)
    try {
      expect(await gate.call('POST', '/distributions/init')).toMatchObject({
        status: 409,
        body: { code: 'signing_key_missing' },
      })
    } finally {
      await rename(`${key}.away`, key)
    }
  })
}
