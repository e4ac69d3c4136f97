// The scopes of a token apply to every way in, before anything is stored: by name, distribution, and what a file provides.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aptFiles, sha256, stanza } from '../../src/upstream/fixture.ts'
import { buildDeb, type SampleDeb } from '../samples/deb.ts'
import { startGate, type Gate } from './harness.ts'

let directory: string
let gate: Gate
let as: string
const source = { id: 0 }

/** `fit` may enter; each of the others is outside the scopes in another way. */
const SAMPLES = {
  fit: { name: 'team-a-tool' },
  other: { name: 'team-b-tool' },
  claiming: { name: 'team-a-taker', fields: { Provides: 'team-b-tool', Replaces: 'team-b-tool' } },
} as const satisfies Record<string, SampleDeb>
type Sample = keyof typeof SAMPLES
const nameOf = (sample: Sample) => SAMPLES[sample].name

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'scopes-'))
  gate = await startGate({ env: { IMPORT_DIRECTORIES: directory } })
  const stanzas: string[] = []
  const put = async (path: string, content: string | Uint8Array) => {
    await mkdir(dirname(join(directory, path)), { recursive: true })
    await writeFile(join(directory, path), content)
  }
  for (const sample of Object.values(SAMPLES)) {
    const bytes = await buildDeb(sample)
    const Filename = `pool/${sample.name}.deb`
    await put(Filename, bytes)
    const stated = { Package: sample.name, Version: '1.0-1', Depends: null, Filename }
    stanzas.push(stanza({ ...stated, Size: String(bytes.length), SHA256: sha256(bytes) }))
  }
  const { release, files } = aptFiles({ packages: stanzas.join('') })
  for (const [path, content] of Object.entries({ ...files, 'dists/test/Release': release })) await put(path, content)
  const url = pathToFileURL(directory).href
  const body = { name: 'others', type: 'apt', url, distribution: 'test', target: 'jammy', allow_unsigned: true }
  source.id = Number((await gate.call('POST', '/import/sources', { body })).body['id'])
  expect((await gate.call('POST', `/import/sources/${source.id}/sync`)).text).toContain('"done"')
  const token = { name: 'team-a', role: 'admin', scopes: { names: ['team-a-*'], distributions: ['jammy'] } }
  as = (await gate.call('POST', '/auth/api-tokens', { body: token })).body['token'] as string
  // Somebody else published the packages that are promoted.
  for (const sample of Object.values(SAMPLES)) await gate.upload(await buildDeb(sample), { distribution: 'focal' })
})
afterAll(async () => {
  await gate?.close()
  await rm(directory, { recursive: true, force: true })
})

type Way = (sample: Sample, distribution: string, as: string) => Promise<{ status: number; text: string }>
const wanted = (sample: Sample) => ({
  ...{ source_id: source.id, package: nameOf(sample), version: '1.0-1', arch: 'amd64' },
})
const several = (path: string): Way => {
  return (sample, distribution, by) =>
    gate.call('POST', path, { as: by, body: { packages: [wanted(sample)], distribution } })
}

const WAYS: Record<string, Way> = {
  'POST /upload': async (sample, distribution, by) =>
    gate.upload(await buildDeb(SAMPLES[sample]), { distribution }, { as: by }),
  'POST /upload/stream': async (sample, distribution, by) =>
    gate.upload(await buildDeb(SAMPLES[sample]), { distribution }, { as: by, query: 'stream' }),
  'POST /import/packages': (sample, distribution, by) =>
    gate.call('POST', '/import/packages', { as: by, body: { ...wanted(sample), distribution } }),
  'POST /import': several('/import'),
  'POST /import/fetch': several('/import/fetch'),
  'POST /import/batch': several('/import/batch'),
  async 'POST /import/bulk'(sample, distribution, by) {
    const begun = await several('/import/bulk')(sample, distribution, by)
    if (begun.status !== 200) return begun
    const { job_id: id } = JSON.parse(begun.text) as { job_id: string }
    await gate.call('GET', `/tasks/${id}/stream`)
    return gate.call('GET', `/import/bulk/${id}`)
  },
  'POST /distributions/promote': (sample, distribution, by) =>
    gate.call('POST', '/distributions/promote', {
      as: by,
      body: { package: nameOf(sample), from_dist: 'focal', to_dist: distribution },
    }),
}
/** For a promotion, the scopes contain both distributions. */
const scopesFor = (way: string) => ({
  names: ['team-a-*'],
  distributions: way.endsWith('/promote') ? ['jammy', 'focal'] : ['jammy'],
})

describe.each(Object.entries(WAYS))('%s', (way, bring) => {
  let by: string
  beforeAll(async () => {
    const body = { name: `for ${way}`, role: 'admin', scopes: scopesFor(way) }
    by = (await gate.call('POST', '/auth/api-tokens', { body })).body['token'] as string
  })
  const there = async (sample: Sample, distribution: string) =>
    ((await gate.call('GET', `/artifacts/${nameOf(sample)}?distribution=${distribution}`)).body['versions'] ?? []) as {
      distribution: string
    }[]

  test.each<[Sample, string]>([
    ['other', 'jammy'],
    ['claiming', 'jammy'],
    ['fit', 'noble'],
  ])('does not bring %s into %s', async (sample, distribution) => {
    const { text } = await bring(sample, distribution, by)
    expect(text).toContain('"forbidden"')
    const versions = await there(sample, distribution)
    expect(versions.filter((one) => one.distribution === distribution)).toEqual([])
  })

  test('brings what is inside', async () => {
    const { text } = await bring('fit', 'jammy', by)
    expect(text).not.toContain('"forbidden"')
    expect((await there('fit', 'jammy')).map((one) => one.distribution)).toContain('jammy')
    expect((await gate.call('DELETE', '/artifacts/team-a-tool?distribution=jammy', { as: by })).status).toBe(200)
  })
})

// These requests concern more than one package, or name packages only later.
test.each<[method: string, path: () => string, body: object]>([
  ['PUT', () => `/import/mirror/sources/${source.id}`, { globs: ['*'], distribution: 'jammy' }],
  ['PUT', () => `/import/mirror/sources/${source.id}`, { names: ['team-a-tool'], distribution: 'jammy' }],
  ['POST', () => '/import/mirror/sources', { sources: { [source.id]: true } }],
  ['POST', () => '/import/mirror/schedule', { enabled: true }],
  ['POST', () => `/import/sources/${source.id}/sync`, {}],
  ['POST', () => '/import/sync/start', {}],
  ['PATCH', () => `/import/sources/${source.id}`, { target: 'jammy' }],
  ['POST', () => '/import/reservations', { pattern: 'team-b-*' }],
  ['POST', () => '/distributions/migrate', { from_dist: 'focal', to_dist: 'jammy' }],
  ['POST', () => '/artifacts/admin/sync-index', {}],
])('%s %s is closed to it', async (method, path, body) => {
  const reply = await gate.call(method, path(), { as, body })
  expect([reply.status, reply.body['code']]).toEqual([403, 'forbidden'])
})

test.each(['/import/packages', '/import', '/import/bulk'])('%s brings no dependencies for it', async (path) => {
  const body = path.endsWith('packages')
    ? { ...wanted('fit'), distribution: 'jammy', with_dependencies: true }
    : { packages: [wanted('fit')], distribution: 'jammy', with_dependencies: true }
  expect((await gate.call('POST', path, { as, body })).status).toBe(403)
})
