// REPO_FORMAT: which formats are active, accepted, refused and served for each value. Unknown values mean apt.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FormatId } from '../formats.ts'
import { formats } from '../../src/formats/index.ts'
import { freePort } from '../ports.ts'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { buildRpm } from '../samples/rpm.ts'
import { startGate, type Gate } from './harness.ts'

const SAMPLES: Record<FormatId, { distribution: string; index: string; build: () => Promise<Buffer> }> = {
  deb: {
    distribution: 'bookworm',
    index: '/repos/dists/bookworm/InRelease',
    build: () => buildDeb({ name: 'sample' }),
  },
  rpm: {
    distribution: 'rocky9',
    index: '/repos/rocky9/x86_64/repodata/repomd.xml',
    build: () => buildRpm({ name: 'sample' }),
  },
  apk: {
    distribution: 'alpine3.20',
    index: '/apk/alpine3.20/main/x86_64/APKINDEX.tar.gz',
    build: async () => buildApk({ name: 'sample' }),
  },
}
const FORMATS = Object.keys(SAMPLES) as FormatId[]

describe.each<[string, string, FormatId[]]>([
  ['apt', 'apt', ['deb']],
  ['rpm', 'rpm', ['rpm']],
  ['apk', 'apk', ['apk']],
  ['both', 'both', ['deb', 'rpm']],
  ['all', 'all', ['deb', 'rpm', 'apk']],
  ['apt,rpm', 'apt', ['deb']],
])('REPO_FORMAT=%s', (value, counted, active) => {
  let gate: Gate
  let rpmPort: number
  const inactive = FORMATS.filter((format) => !active.includes(format))
  const port = (format: FormatId) => (format === 'rpm' ? rpmPort : gate.aptPort)
  const serves = async (format: FormatId) => {
    const answer = await fetch(`http://127.0.0.1:${port(format)}${SAMPLES[format].index}`)
    await answer.arrayBuffer()
    return answer.status
  }

  beforeAll(async () => {
    rpmPort = await freePort()
    gate = await startGate({ env: { REPO_FORMAT: value, RPM_REPO_PORT: String(rpmPort) } })
  })
  afterAll(() => gate?.close())

  test('activates exactly the distributions of its formats', async () => {
    const { body } = await gate.call<{
      distributions: { format: FormatId; active: boolean; signed_by: string | null }[]
    }>('GET', '/distributions/')
    expect(body.distributions).toHaveLength(formats.flatMap((format) => format.distributions).length)
    for (const { format, active: isActive, signed_by } of body.distributions) {
      expect([format, isActive]).toEqual([format, active.includes(format)])
      expect(signed_by).toBe(isActive ? gate.app.fingerprint : null)
    }
    const { body: settings } = await gate.call<{ _meta: { repo_format: string } }>('GET', '/settings/')
    expect(settings._meta.repo_format).toBe(counted)
  })

  test('initializes only those', async () => {
    const { status, body } = await gate.call<{ repo_format: string; results: { format: FormatId; ok: boolean }[] }>(
      'POST',
      '/distributions/init',
    )
    expect([status, body.repo_format]).toEqual([200, counted])
    expect([...new Set(body.results.map(({ format }) => format))].sort()).toEqual([...active].sort())
    expect(body.results.every(({ ok }) => ok)).toBe(true)
    expect(body.results).toHaveLength(
      formats.filter(({ id }) => active.some((one) => one === id)).flatMap((format) => format.distributions).length,
    )
  })

  test.each(active)('accepts and serves %s', async (format) => {
    const { distribution, build } = SAMPLES[format]
    const answer = await gate.upload<{ status: string }>(await build(), { distribution })
    expect([answer.status, answer.body.status]).toEqual([201, 'published'])
    expect(await serves(format)).toBe(200)
  })

  if (inactive.length > 0) {
    test.each(inactive)('refuses %s as inactive and serves none of its files', async (format) => {
      const { distribution, build } = SAMPLES[format]
      expect(await gate.upload(await build(), { distribution })).toMatchObject({
        status: 400,
        body: { code: 'distribution_inactive' },
      })
      expect(await serves(format)).toBe(404)
    })

    test('refuses an inactive distribution before it identifies the file', async () => {
      const { build } = SAMPLES[active[0] as FormatId]
      const { distribution } = SAMPLES[inactive[0] as FormatId]
      expect(await gate.upload(await build(), { distribution })).toMatchObject({
        status: 400,
        body: { code: 'distribution_inactive' },
      })
    })
  }

  test('refuses a package of another format, active or not', async () => {
    for (const into of active) {
      for (const format of FORMATS.filter((other) => other !== into)) {
        const answer = await gate.upload(await SAMPLES[format].build(), { distribution: SAMPLES[into].distribution })
        expect([into, format, answer.status, answer.body['code']]).toEqual([into, format, 400, 'format_mismatch'])
      }
    }
  })

  test('serves the public keys at the paths that clients use', async () => {
    for (const [at, path] of [
      [gate.aptPort, '/repos/gpg.key'],
      [gate.aptPort, '/apk/svc.rsa.pub'],
      [rpmPort, '/repos/gpg.key'],
    ] as const) {
      const answer = await fetch(`http://127.0.0.1:${at}${path}`)
      expect([path, answer.status]).toEqual([path, 200])
      expect(await answer.text()).toMatch(/^-----BEGIN (PGP )?PUBLIC KEY/)
    }
  })
})
