// Attestations and signatures that an upstream has: verified when the file comes in, passed on, and what hostile ones lead to.
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startNpmRegistry, type NpmRegistry } from '../fakes/npm-registry.ts'
import { asPypi, PUBLISH, registryKey, SLSA, startSigstore, type Bundle, type Sigstore } from '../fakes/sigstore.ts'
import { startSimpleIndex, type SimpleIndex } from '../fakes/simple-index.ts'
import { buildNpm, publishBody } from '../samples/npm.ts'
import { buildWheel } from '../samples/python.ts'
import { form } from './http.ts'
import { startNpm } from './npm.ts'

let at: Awaited<ReturnType<typeof startNpm>>
let sigstore: Sigstore
let npm: NpmRegistry
let index: SimpleIndex
let directory: string
let names = 0
const key = registryKey()
const fresh = () => `lib${++names}`
const OLD = '2020-01-01T00:00:00Z'
const JSON_MEDIA = 'application/vnd.pypi.simple.v1+json'
const sha = (name: string, bytes: Buffer) => createHash(name).update(bytes).digest('hex')
const hexOf = (integrity: string) => Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex')
const as = (method: string, path: string, options = {}) =>
  at.gate.call(method, path, { as: at.gate.people.admin.token, ...options })

/** What each upstream has under a path. */
const serve = (upstream: NpmRegistry | SimpleIndex, path: string, body: unknown, status = 200) =>
  upstream.lie(path, (_, response) =>
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body)),
  )

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'provenance-'))
  ;[sigstore, npm, index] = await Promise.all([startSigstore(), startNpmRegistry(), startSimpleIndex()])
  await writeFile(join(directory, 'root.json'), sigstore.root)
  serve(npm, '-/npm/v1/keys', { keys: [key.listed] })
  at = await startNpm({ env: { SIGSTORE_TRUSTED_ROOT: join(directory, 'root.json') } })
  const strict = { curation: { provenance: 'require' } }
  for (const body of [
    { format: 'npm', name: 'proxy', kind: 'proxy', upstream: { url: npm.url } },
    { format: 'npm', name: 'strict', kind: 'proxy', upstream: { url: npm.url }, ...strict },
    { format: 'npm', name: 'both', kind: 'group', members: ['team', 'proxy'] },
    { format: 'pypi', name: 'proxy', kind: 'proxy', upstream: { url: index.url } },
    { format: 'pypi', name: 'team', kind: 'hosted' },
  ])
    expect((await as('POST', '/registries', { body })).status).toBe(201)
})
afterAll(async () => {
  expect(at.gate.errors).toEqual([])
  await at?.gate.close()
  await Promise.all([npm?.close(), index?.close()])
  await rm(directory, { recursive: true, force: true })
})

interface Listed {
  dist: { integrity: string; signatures?: unknown[]; attestations?: { url: string; provenance?: object } }
}
const distOf = async (name: string, repo = 'proxy') =>
  ((await at.get(`${repo}/${name.replace('/', '%2f')}`)).body.versions as unknown as Record<string, Listed>)['1.0.0']
    ?.dist
const file = (name: string, repo = 'proxy') =>
  at.get<{ error?: string }>(`${repo}/${name}/-/${name.replace(/^.*\//, '')}-1.0.0.tgz`)

/** Puts a version that is attested. @param attest makes the answer of the upstream about it */
async function attested(
  name: string,
  attest: (subject: { name: string; digest: { sha512: string } }) => unknown,
  dist: Record<string, unknown> = {},
  fields: Record<string, unknown> = {},
) {
  let integrity = ''
  await npm.put(name, {
    '1.0.0': {
      time: OLD,
      fields,
      dist: (own) => {
        integrity = own
        const signatures = [key.signatureOf(`${name}@1.0.0:${own}`)]
        return { signatures, attestations: { provenance: { predicateType: SLSA } }, ...dist }
      },
    },
  })
  const purl = `pkg:npm/${name.replace('@', '%40')}@1.0.0`
  const answer = await attest({ name: purl, digest: { sha512: hexOf(integrity) } })
  if (answer !== undefined) serve(npm, `-/npm/v1/attestations/${name}@1.0.0`, answer)
  return integrity
}
const listing = (...bundles: unknown[]) => ({
  attestations: bundles.map((bundle) => ({ predicateType: SLSA, bundle })),
})

async function seen(format: string, repo: string, name: string, version = '1.0.0') {
  const place = encodeURIComponent(`${format}/${repo}`)
  const { body } = await as(
    'GET',
    `/security/packages/${encodeURIComponent(name)}/${version}/evidence?distribution=${place}`,
  )
  const steps =
    (body['packages'] as { validation_steps: Step[] }[] | undefined)?.[0]?.validation_steps ??
    (body['validation_steps'] as Step[])
  return steps.find((step) => step.name === 'attestations')
}
interface Step {
  name: string
  passed: boolean
  message: string
  warning?: boolean
  detail: { attestations: Record<string, unknown>[] }
}

describe('npm', () => {
  test.each(['attested', '@acme/attested'])('what %s proves is verified once, shown, and passed on', async (name) => {
    let bundles: Bundle[] = []
    const integrity = await attested(name, async (subject) => {
      bundles = await Promise.all([
        sigstore.attest({ subject: [subject], predicateType: PUBLISH }, { by: key.by }),
        sigstore.attest({ subject: [subject] }),
      ])
      return {
        attestations: [
          { predicateType: PUBLISH, bundle: bundles[0] },
          { predicateType: SLSA, bundle: bundles[1] },
        ],
      }
    })
    const signatures = [key.signatureOf(`${name}@1.0.0:${integrity}`)].map(({ keyid }) =>
      expect.objectContaining({ keyid }),
    )
    expect(await distOf(name)).toMatchObject({ integrity, signatures })
    expect((await distOf(name))!.attestations).toBeUndefined()
    const replies = await Promise.all([file(name), file(name), file(name, 'both')])
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(npm.asked.filter((path) => path === `-/npm/v1/attestations/${name}@1.0.0`).length).toBe(1)
    const address = `-/npm/v1/attestations/${name.replace('/', '%2f')}@1.0.0`
    for (const repo of ['proxy', 'both']) {
      const { attestations } = (await distOf(name, repo))!
      expect(attestations).toEqual({
        url: expect.stringContaining(`/npm/${repo}/${address}`),
        provenance: { predicateType: SLSA },
      })
      const { body } = await at.get<{ attestations: { bundle: Bundle }[] }>(`${repo}/${address}`)
      expect(body.attestations.map(({ bundle }) => bundle)).toEqual(bundles)
      expect((await at.get<object>(`${repo}/-/npm/v1/keys`)).body).toEqual({ keys: [key.listed] })
    }
    const { passed, message, detail } = (await seen('npm', 'proxy', name))!
    expect(passed).toBe(true)
    expect(message).toMatch(
      /^built from https:\/\/github\.com\/acme\/lib by \.github\/workflows\/release\.yml at refs\/tags\/v1, log entry \d+; signed by its registry/,
    )
    expect(detail.attestations[1]).toMatchObject({
      repository: 'https://github.com/acme/lib',
      builder: 'https://github.com/actions/runner/github-hosted',
    })
  })

  test.each([
    ['acme/lib', false],
    ['https://github.com/somebody/else', true],
  ])('of a package that names the repository %s', async (repository, isWarned) => {
    const name = fresh()
    await attested(name, async (subject) => listing(await sigstore.attest({ subject: [subject] })), {}, { repository })
    expect((await file(name)).status).toBe(200)
    const { warning = false, message } = (await seen('npm', 'proxy', name))!
    const sentence = `it is built from https://github.com/acme/lib, and says that it comes from ${repository}`
    expect([warning, message.includes(sentence)]).toEqual([isWarned, isWarned])
  })

  test('what a repository without upstream offers: no keys, and no attestations', async () => {
    expect((await at.get('team/-/npm/v1/keys')).status).toBe(404)
    for (const path of ['lib', 'lib@1.0.0', '@', '%2e%2e@1.0.0', '@acme/lib@'])
      expect((await at.get(`team/-/npm/v1/attestations/${path}`)).status).toBe(404)
    expect((await at.get('nowhere/-/npm/v1/keys', { as: null })).status).toBe(401)
  })

  describe('a publish', () => {
    const subjectOf = (name: string, tarball: Buffer) => ({
      name: `pkg:npm/${name}@1.0.0`,
      digest: { sha512: sha('sha512', tarball) },
    })
    async function publish(name: string, tarball: Buffer, bundle: string) {
      const body = publishBody({
        ...{ name, version: '1.0.0', tarball },
        change: (body: Record<string, any>) => (body['_attachments'][`${name}-1.0.0.sigstore`] = { data: bundle }),
      })
      const headers = { 'content-type': 'application/json' }
      return as('PUT', `/npm/team/${name}`, { body, headers })
    }

    test('with provenance offers it once it was verified', async () => {
      const name = fresh()
      const tarball = await buildNpm({ name, version: '1.0.0' })
      const bundle = await sigstore.attest({ subject: [subjectOf(name, tarball)] })
      const reply = await publish(name, tarball, JSON.stringify(bundle))
      expect([reply.status, reply.headers['npm-notice']], reply.text).toEqual([201, undefined])
      expect((await at.get(`team/-/npm/v1/attestations/${name}@1.0.0`)).body).toEqual({
        attestations: [{ predicateType: SLSA, bundle }],
      })
      expect((await distOf(name, 'team'))?.attestations?.provenance).toEqual({ predicateType: SLSA })
      expect((await seen('npm', 'team', name))?.detail.attestations).toMatchObject([
        { predicate: SLSA, repository: 'https://github.com/acme/lib', workflow: '.github/workflows/release.yml' },
      ])
    })

    test.each<[string, (subject: ReturnType<typeof subjectOf>) => Promise<string>, string]>([
      [
        'other bytes',
        async ({ name }) =>
          JSON.stringify(await sigstore.attest({ subject: [{ name, digest: { sha512: '0'.repeat(128) } }] })),
        'its provenance does not match its bytes',
      ],
      ['no JSON', async () => '{', 'its attestations are not JSON'],
      ['no bundle', async () => '[]', 'its provenance does not verify'],
      [
        'two thousand bundles',
        async () => Array.from({ length: 2000 }, () => '{}').join('},{"bundle":'),
        'it has 2000 attestations, and at most 16 are read',
      ],
      [
        'what breaks out of its place',
        async () => '{}},{"bundle":{}}],"attestations":[{"bundle":{}',
        'its provenance does not verify',
      ],
    ])('with provenance of %s waits for a review', async (_, make, message) => {
      const name = fresh()
      const tarball = await buildNpm({ name, version: '1.0.0' })
      const reply = await publish(name, tarball, await make(subjectOf(name, tarball)))
      expect([reply.status, reply.headers['npm-notice']], reply.text).toEqual([201, expect.stringContaining('is held')])
      expect((await seen('npm', 'team', name))?.message).toContain(message)
      expect((await at.get(`team/-/npm/v1/attestations/${name}@1.0.0`)).status).toBe(403)
    })
  })

  test('a deprecation that comes later is shown beside what was verified', async () => {
    const name = fresh()
    await attested(name, async (subject) => listing(await sigstore.attest({ subject: [subject] })))
    expect((await file(name)).status).toBe(200)
    const list = await distOf(name)
    const content = {
      name,
      'dist-tags': { latest: '1.0.0' },
      time: { '1.0.0': OLD },
      versions: {
        '1.0.0': { name, version: '1.0.0', deprecated: 'use another', dist: { ...list, tarball: `${npm.url}/x.tgz` } },
      },
    }
    serve(npm, name, content)
    at.gate.clock.advance(6 * 60_000)
    const { body } = await at.get(`proxy/${name}`)
    expect(body.versions['1.0.0']).toMatchObject({ deprecated: 'use another', dist: { attestations: {} } })
  })

  type Subject = { name: string; digest: { sha512: string } }
  const big = 'x'.repeat(5 * 1024 * 1024)
  test.each<[string, (subject: Subject) => unknown, RegExp]>([
    [
      'of other bytes',
      async ({ name }) => listing(await sigstore.attest({ subject: [{ name, digest: { sha512: '0'.repeat(128) } }] })),
      /does not match its bytes/,
    ],
    [
      'of another package',
      async ({ digest }) => listing(await sigstore.attest({ subject: [{ name: 'pkg:npm/other@1.0.0', digest }] })),
      /about another package: pkg:npm\/other/,
    ],
    [
      'of another Sigstore',
      async (subject) => listing(await (await startSigstore()).attest({ subject: [subject] })),
      /does not verify/,
    ],
    [
      'by 1,000 bundles',
      async (subject) =>
        listing(
          ...Array.from(
            { length: 1000 },
            (
              (bundle) => () =>
                bundle
            )({ subject }),
          ),
        ),
      /1000 attestations/,
    ],
    ['by a page', () => '<html>', /not JSON/],
    ['by a text', () => '"text"', /another form/],
    ['by a bundle that is a number', () => listing(7), /does not verify/],
    ['of 5 MB', () => ({ attestations: [], big }), /cannot be read: .*bytes/],
    [
      'that is compressed unasked',
      ({ name }) =>
        npm.lie(`-/npm/v1/attestations/${name.slice('pkg:npm/'.length)}`, (_, response) =>
          response.writeHead(200, { 'content-encoding': 'br' }).end('x'),
        ),
      /cannot be read: .*unasked/,
    ],
    ['by JSON that nests without end', () => '['.repeat(500_000), /not JSON/],
  ])('provenance %s holds the file', async (_, attest, reason) => {
    const name = fresh()
    await attested(name, attest)
    const reply = await file(name)
    expect([reply.status, reply.body.error]).toEqual([403, expect.stringMatching(/held/)])
    const step = (await seen('npm', 'proxy', name))!
    expect([step.passed, step.message]).toEqual([false, expect.stringMatching(reason)])
    expect((await at.get(`proxy/-/npm/v1/attestations/${name}@1.0.0`)).status).toBe(403)
  })

  test.each<[string, (name: string) => unknown, RegExp]>([
    ['is missing', () => undefined, /has none/],
    [
      'answers 500',
      (name) => {
        npm.lie(`-/npm/v1/attestations/${name}@1.0.0`, (_, response) => response.writeHead(500).end())
      },
      /answered 500/,
    ],
  ])('provenance that %s is told, and holds the file where it is required', async (_, answer, reason) => {
    const name = fresh()
    await attested(name, () => answer(name))
    expect([(await file(name)).status, (await file(name, 'strict')).status]).toEqual([200, 403])
    expect(await seen('npm', 'proxy', name)).toMatchObject({
      passed: true,
      warning: true,
      message: expect.stringMatching(reason),
    })
    expect(await seen('npm', 'strict', name)).toMatchObject({
      passed: false,
      message: expect.stringMatching(/none of its provenance is verified/),
    })
    expect((await distOf(name))!.attestations).toBeUndefined()
  })

  test.each<[string, unknown, number]>([
    ['none', undefined, 404],
    ['a page', '<html>', 404],
    ['a list', [], 404],
    ['keys that are none', { keys: [7, null, {}, { ...key.listed, key: 7 }, 'x'] }, 404],
    ['a megabyte', { keys: [key.listed], big: 'x'.repeat(1024 * 1024) }, 404],
    ['a key that ends at no time', { keys: [{ ...key.listed, expires: 'soon' }] }, 200],
  ])('of an upstream whose keys are %s, signatures are not verified', async (_, keys, status) => {
    const repo = `keys${++names}`
    serve(npm, '-/npm/v1/keys', keys ?? '', keys === undefined ? 404 : 200)
    const body = { format: 'npm', name: repo, kind: 'proxy', upstream: { url: npm.url } }
    expect((await as('POST', '/registries', { body })).status).toBe(201)
    const name = fresh()
    await attested(name, () => undefined, { attestations: undefined })
    expect((await at.get(`${repo}/-/npm/v1/keys`)).status).toBe(status)
    await file(name, repo)
    const step = (await seen('npm', repo, name))!
    expect([step.passed, step.warning ?? false]).toEqual([status === 404, status === 404])
    serve(npm, '-/npm/v1/keys', { keys: [key.listed] })
  })

  test('a new key of an upstream counts at once', async () => {
    const next = registryKey('SHA256:next')
    const before = fresh()
    await attested(before, () => undefined, { attestations: undefined })
    expect((await file(before)).status).toBe(200)
    at.gate.clock.advance(2 * 60_000)
    serve(npm, '-/npm/v1/keys', { keys: [key.listed, next.listed] })
    const name = fresh()
    await npm.put(name, {
      '1.0.0': { time: OLD, dist: (own) => ({ signatures: [next.signatureOf(`${name}@1.0.0:${own}`)] }) },
    })
    expect((await file(name)).status).toBe(200)
    expect((await seen('npm', 'proxy', name))!.message).toBe('signed by its registry with the key SHA256:next')
    expect((await at.get('proxy/-/npm/v1/keys')).body).toEqual({ keys: [key.listed, next.listed] })
    serve(npm, '-/npm/v1/keys', '', 500)
    at.gate.clock.advance(61 * 60_000)
    expect((await at.get('proxy/-/npm/v1/keys')).body).toEqual({ keys: [key.listed, next.listed] })
    serve(npm, '-/npm/v1/keys', { keys: [key.listed] })
  })

  test('a signature over other bytes holds the file', async () => {
    const name = fresh()
    await attested(name, () => undefined, {
      attestations: undefined,
      signatures: [key.signatureOf(`${name}@1.0.0:sha512-AAAA`)],
    })
    expect((await file(name)).status).toBe(403)
    expect((await seen('npm', 'proxy', name))!.message).toBe('the signature of its registry does not match its bytes')
  })
})

describe('Python', () => {
  const wheelOf = (name: string) => ({
    filename: `${name}-1.0-py3-none-any.whl`,
    bytes: buildWheel({ name, version: '1.0' }),
  })
  const subjectOf = ({ filename, bytes }: ReturnType<typeof wheelOf>) => ({
    name: filename,
    digest: { sha256: sha('sha256', bytes) },
  })
  const provenance = (...attestations: unknown[]) => ({
    version: 1,
    attestation_bundles: [{ publisher: { kind: 'GitHub', repository: 'evil/liar' }, attestations }],
  })
  const list = async (repo: string, name: string) =>
    (
      (await as('GET', `/pypi/${repo}/simple/${name}/`, { headers: { accept: JSON_MEDIA } })).body['files'] as Record<
        string,
        unknown
      >[]
    )[0]!
  const fetchFile = (repo: string, name: string, part = '') =>
    as('GET', `/pypi/${repo}/files/${name}/${wheelOf(name).filename}${part}`)

  /** @param host of the address of the provenance */
  function put(name: string, answer: unknown, host = index.url.replace(/\/simple$/, '')) {
    const wheel = wheelOf(name)
    index.put(name, [{ ...wheel, uploaded: OLD, listed: { provenance: `${host}/integrity/${name}/provenance` } }])
    serve(index, `integrity/${name}/provenance`, answer)
    return wheel
  }

  test('what a file proves is verified, shown with its publisher, and passed on', async () => {
    const name = fresh()
    const attestation = asPypi(await sigstore.attest({ subject: [subjectOf(wheelOf(name))] }))
    put(name, provenance(attestation))
    expect((await list('proxy', name))['provenance']).toBeNull()
    expect((await fetchFile('proxy', name)).status).toBe(200)
    expect((await list('proxy', name))['provenance']).toBe(
      `../../files/${name}/${name}-1.0-py3-none-any.whl.provenance`,
    )
    expect((await fetchFile('proxy', name, '.provenance')).body).toEqual({
      version: 1,
      attestation_bundles: [
        { publisher: { kind: 'GitHub', repository: 'acme/lib', workflow: 'release.yml' }, attestations: [attestation] },
      ],
    })
    expect((await seen('pypi', 'proxy', name, '1.0'))!.message).toMatch(/^built from https:\/\/github\.com\/acme\/lib/)
  })

  test.each<[string, (wheel: ReturnType<typeof wheelOf>) => Promise<unknown>, string | undefined, number, RegExp]>([
    [
      'of other bytes',
      async ({ filename }) =>
        asPypi(await sigstore.attest({ subject: [{ name: filename, digest: { sha256: '0'.repeat(64) } }] })),
      undefined,
      403,
      /does not match its bytes/,
    ],
    [
      'of another file',
      async (wheel) =>
        asPypi(await sigstore.attest({ subject: [{ ...subjectOf(wheel), name: 'other-1.0-py3-none-any.whl' }] })),
      undefined,
      403,
      /another package/,
    ],
    ['without parts', async () => ({ version: 1 }), undefined, 403, /does not verify/],
    ['on another host', async () => ({}), 'https://elsewhere.test', 200, /on elsewhere\.test, which is neither/],
  ])('provenance %s', async (_, make, host, status, reason) => {
    const name = fresh()
    put(name, provenance(await make(wheelOf(name))), host)
    expect((await fetchFile('proxy', name)).status).toBe(status)
    expect((await seen('pypi', 'proxy', name, '1.0'))!.message).toMatch(reason)
    expect((await fetchFile('proxy', name, '.provenance')).status).not.toBe(200)
  })

  const upload = (name: string, attestation: unknown) => {
    const { filename, bytes } = wheelOf(name)
    const fields = { ':action': 'file_upload', name, version: '1.0', attestations: JSON.stringify([attestation]) }
    const sent = form([
      ...Object.entries(fields).map(([key, value]) => ({ name: key, value })),
      { name: 'content', filename, value: bytes },
    ])
    return as('POST', '/pypi/team/legacy/', sent)
  }

  test('attestations of an upload are verified and offered', async () => {
    const name = fresh()
    const attestation = asPypi(await sigstore.attest({ subject: [subjectOf(wheelOf(name))] }))
    const reply = await upload(name, attestation)
    expect([reply.status, reply.headers['x-package-status']], reply.text).toEqual([200, 'published'])
    expect((await fetchFile('team', name, '.provenance')).body).toMatchObject({
      attestation_bundles: [{ attestations: [attestation] }],
    })
  })

  test('an upload with the attestation of another file waits for a review', async () => {
    const name = fresh()
    const reply = await upload(
      name,
      asPypi(
        await sigstore.attest({ subject: [{ name: wheelOf(name).filename, digest: { sha256: '0'.repeat(64) } }] }),
      ),
    )
    expect([reply.status, reply.headers['x-package-status']]).toEqual([200, 'pending_review'])
    expect((await seen('pypi', 'team', name, '1.0'))!.message).toBe('its provenance does not match its bytes')
  })
})
