// Proxies of npm registries: what clients get of an upstream, what its lies lead to, and names that are never asked for.
import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startNpmRegistry, type NpmRegistry } from '../fakes/npm-registry.ts'
import { startNpm, type Packument } from './npm.ts'
import type { CallOptions } from './harness.ts'
import type { Reply } from './http.ts'

let at: Awaited<ReturnType<typeof startNpm>>
let upstream: NpmRegistry
let names = 0
const fresh = () => `lib${++names}`
const DAY_MS = 86_400_000
const ago = (days: number) => new Date(at.gate.clock.now().getTime() - days * DAY_MS).toISOString()
const old = () => ({ time: ago(100) })
const read = (name: string, repo = 'proxy') => at.get(`${repo}/${name.replace('/', '%2f')}`)
const file = (name: string, version = '1.0.0', repo = 'proxy') =>
  at.get<{ code?: string; error?: string }>(`${repo}/${name}/-/${name.replace(/^.*\//, '')}-${version}.tgz`)
const make = (name: string, more: object = {}) =>
  as('POST', '/registries', {
    body: { format: 'npm', name, kind: 'proxy', upstream: { url: upstream.url }, ...more },
  })
/** sessions end with the clock of the tests */
const as = (method: string, path: string, options: CallOptions = {}) =>
  at.gate.call(method, path, { as: at.gate.people.admin.token, ...options })
const later = (minutes: number) => at.gate.clock.advance(minutes * 60_000)
const versionsOf = ({ body }: Reply<Packument>) => Object.keys(body.versions).sort()

beforeAll(async () => {
  upstream = await startNpmRegistry()
  at = await startNpm()
  for (const [name, more] of [
    ['proxy', {}],
    ['ageless', { curation: { min_age_days: 0 } }],
    ['quiet', { curation: { explain_holds: false } }],
    ['strict', { curation: { deny_licenses: ['GPL-3.0-only'], install_scripts: 'hold_new', provenance: 'require' } }],
    ['signed', { upstream: { url: upstream.url, authorization: 'Bearer secret' } }],
  ] as const)
    expect((await make(name, more)).status).toBe(201)
  const group = { format: 'npm', name: 'both', kind: 'group', members: ['team', 'proxy'] }
  expect((await as('POST', '/registries', { body: group })).status).toBe(201)
})
afterAll(async () => {
  expect(at.gate.errors).toEqual([])
  await at?.gate.close()
  await upstream?.close()
})

describe('what an upstream has', () => {
  test.each(['plain-one', '@scope/one'])('%s is listed, fetched once and kept as a record', async (name) => {
    await upstream.put(name, { '1.0.0': { ...old(), fields: { dependencies: { other: '^1' }, license: 'MIT' } } })
    const { status, body } = await read(name)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      'dist-tags': { latest: '1.0.0' },
      versions: { '1.0.0': { dependencies: { other: '^1' } } },
    })
    const { tarball } = body.versions['1.0.0']!.dist
    expect(tarball).toContain(`:${at.gate.port}/npm/proxy/${name}/-/`)
    const before = upstream.asked.length
    for (let i = 0; i < 2; i++) expect((await file(name)).status).toBe(200)
    expect(upstream.asked.length - before).toBe(1)
    const found = await as('GET', `/artifacts/?distribution=npm%2Fproxy&q=${encodeURIComponent(name)}`)
    expect(found.text).toContain('"distribution":"npm/proxy"')
    expect((await read(name)).body.versions['1.0.0']!.dist.integrity).toBe(body.versions['1.0.0']!.dist.integrity)
  })

  test('is asked for again after five minutes, and kept for a week while it does not answer', async () => {
    const name = fresh()
    await upstream.put(name, { '1.0.0': old() })
    await read(name)
    await upstream.put(name, { '1.0.0': old(), '1.1.0': old() })
    expect(versionsOf(await read(name))).toEqual(['1.0.0'])
    later(6)
    expect(versionsOf(await read(name))).toEqual(['1.0.0', '1.1.0'])
    upstream.lie(name, (_, response) => response.writeHead(503).end())
    later(6 * 24 * 60)
    expect(versionsOf(await read(name))).toEqual(['1.0.0', '1.1.0'])
    later(2 * 24 * 60)
    expect((await read(name)).status).toBe(502)
  })

  test('and has no more is still given where it is here', async () => {
    const name = fresh()
    await upstream.put(name, { '1.0.0': old(), '1.1.0': old() })
    await read(name)
    await file(name)
    upstream.remove(name)
    later(6)
    expect(versionsOf(await read(name))).toEqual(['1.0.0'])
    expect((await file(name)).status).toBe(200)
  })

  test('that it does not have is asked for once', async () => {
    const before = upstream.asked.length
    for (let i = 0; i < 3; i++) expect((await read('never-was')).status).toBe(404)
    expect(upstream.asked.length - before).toBe(1)
  })

  test('is asked for once by 200 clients at a time, list and file', async () => {
    const name = fresh()
    await upstream.put(name, { '1.0.0': old() })
    let release = () => {}
    upstream.holdUntil(new Promise((resolve) => (release = resolve)))
    const before = upstream.asked.length
    const lists = Promise.all(Array.from({ length: 200 }, () => read(name)))
    release()
    expect(new Set((await lists).map(({ status }) => status))).toEqual(new Set([200]))
    const files = await Promise.all(Array.from({ length: 200 }, () => file(name)))
    expect(new Set(files.map(({ status }) => status))).toEqual(new Set([200]))
    expect(upstream.asked.length - before).toBe(2)
  })
})

describe('rules', () => {
  test('a young version is held with its reason, in the list and for its file, until it is old enough', async () => {
    const name = fresh()
    await upstream.put(name, { '1.0.0': old(), '1.1.0': { time: ago(1) } })
    const { body } = await read(name)
    expect([Object.keys(body.versions), body['dist-tags']['latest']]).toEqual([['1.0.0'], '1.0.0'])
    expect(body.policyRestrictions?.message).toContain(`${name}@1.1.0: it is younger than 7 days`)
    const held = await file(name, '1.1.0')
    expect([held.status, held.body.code]).toEqual([403, 'policy_hold'])
    expect(versionsOf(await read(name, 'ageless'))).toEqual(['1.0.0', '1.1.0'])
    later(6 * 24 * 60 + 10)
    expect(versionsOf(await read(name))).toEqual(['1.0.0', '1.1.0'])
    expect((await file(name, '1.1.0')).status).toBe(200)
  })

  test.each<[string, object, RegExp]>([
    ['a denied licence', { license: 'GPL-3.0-only', dist: { attestations: {} } }, /licence is GPL/],
    ['new scripts', { scripts: { install: 'x' }, dist: { attestations: {} } }, /1\.0\.0 did not/],
    ['no provenance', {}, /no provenance/],
  ])('%s is held', async (_, { dist = {}, ...fields }: { dist?: object }, reason) => {
    const name = fresh()
    const attested = { attestations: {} }
    await upstream.put(name, {
      '1.0.0': { ...old(), dist: attested },
      '1.1.0': { ...old(), fields, dist: dist as Record<string, unknown> },
    })
    const { body } = await read(name, 'strict')
    expect(Object.keys(body.versions)).toEqual(['1.0.0'])
    expect(body.policyRestrictions?.message).toMatch(reason)
    expect((await file(name, '1.1.0', 'strict')).body.error).toMatch(reason)
  })

  test('holds without an explanation are in no list', async () => {
    const name = fresh()
    await upstream.put(name, { '1.0.0': old(), '1.1.0': { time: ago(1) } })
    const { body } = await read(name, 'quiet')
    expect([Object.keys(body.versions), body.policyRestrictions]).toEqual([['1.0.0'], undefined])
    expect((await file(name, '1.1.0', 'quiet')).status).toBe(403)
  })

  test('a held version that is asked for waits for a review, and is given once it is approved', async () => {
    const name = fresh()
    await upstream.put(name, { '1.0.0': { time: ago(1) } })
    await read(name)
    await file(name)
    const { gate } = at
    const withheld = async () => (await as('GET', '/registries/npm/proxy/withheld')).body['items'] as object[]
    expect(await withheld()).toContainEqual(expect.objectContaining({ name, version: '1.0.0', asked: 1, status: null }))
    const body = { name, version: '1.0.0' }
    const refused = await as('POST', '/registries/npm/proxy/requests', { as: gate.people.reader.token, body })
    expect(refused.status).toBe(403)
    const asked = await as('POST', '/registries/npm/proxy/requests', { as: at.uploader, body })
    expect([asked.status, asked.body['files']], asked.text).toEqual([200, [`${name}-1.0.0.tgz`]])
    expect(await withheld()).toContainEqual(expect.objectContaining({ name, asked: 2, status: 'pending_review' }))
    expect((await file(name)).status).toBe(403)
    const decision = { distribution: 'npm/proxy', action: 'accept_risk', justification: 'looked at it' }
    const decided = await as('POST', `/security/packages/${name}/1.0.0/decide`, { body: decision })
    expect(decided.status, decided.text).toBeLessThan(300)
    expect(versionsOf(await read(name))).toEqual(['1.0.0'])
    expect((await file(name)).status).toBe(200)
    expect(await withheld()).not.toContainEqual(expect.objectContaining({ name }))
  })

  test('changed rules hold for the next request', async () => {
    const name = fresh()
    await upstream.put(name, { '1.0.0': { time: ago(1) } })
    expect((await read(name, 'ageless')).status).toBe(200)
    const change = (min_age_days: number) =>
      as('PATCH', '/registries/npm/ageless', { body: { curation: { min_age_days } } })
    await change(30)
    expect(versionsOf(await read(name, 'ageless'))).toEqual([])
    await change(0)
    expect(versionsOf(await read(name, 'ageless'))).toEqual(['1.0.0'])
  })
})

describe('an upstream that lies', () => {
  const alerts = async (name: string) => {
    const { body } = await as('GET', '/artifacts/audit/logs?action=INTEGRITY_ALERT&per_page=100')
    return (body['items'] as { package: string }[]).filter((one) => one.package === name).length
  }
  const other = () => ({ integrity: `sha512-${Buffer.alloc(64, 1).toString('base64')}` })

  test.each<[string, (name: string) => Promise<void>, number]>([
    ['with another digest', (name) => upstream.put(name, { '1.0.0': { ...old(), dist: other() } }), 1],
    [
      'with another package',
      async (name) => {
        await upstream.put(name, { '1.0.0': old() })
        await upstream.put('another', { '1.0.0': old() })
        const { versions } = (await (await fetch(`${upstream.url}/another`)).json()) as Packument
        await upstream.put(name, { '1.0.0': { ...old(), dist: versions['1.0.0']!.dist } })
      },
      1,
    ],
    [
      'with half of a file',
      async (name) => {
        await upstream.put(name, { '1.0.0': old() })
        upstream.lie(`${name}/-/${name}-1.0.0.tgz`, (_, response) => {
          response.writeHead(200, { 'content-length': '1000' }).write('half')
          response.destroy()
        })
      },
      0,
    ],
    [
      'with an encoding that nobody asked for',
      async (name) => {
        await upstream.put(name, { '1.0.0': old() })
        upstream.lie(`${name}/-/${name}-1.0.0.tgz`, (_, response) =>
          response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
        )
      },
      0,
    ],
    [
      'with a file elsewhere that no strong digest pins',
      (name) =>
        upstream.put(name, {
          '1.0.0': {
            ...old(),
            dist: {
              integrity: undefined,
              shasum: '0'.repeat(40),
              tarball: upstream.url.replace('127.0.0.1', 'localhost'),
            },
          },
        }),
      0,
    ],
    [
      'with a redirect into the network',
      async (name) => {
        await upstream.put(name, { '1.0.0': old() })
        upstream.lie(`${name}/-/${name}-1.0.0.tgz`, (_, response) =>
          response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end(),
        )
      },
      0,
    ],
  ])('%s gives nothing, and nothing is stored', async (_, prepare, alarms) => {
    const name = fresh()
    await prepare(name)
    expect((await read(name)).status).toBe(200)
    expect([502, 400]).toContain((await file(name)).status)
    expect(await alerts(name)).toBe(alarms)
    const { text } = await as('GET', `/artifacts/?q=${name}`)
    expect(text).not.toContain(`"name":"${name}"`)
  })

  test.each<[string, (response: import('node:http').ServerResponse) => void]>([
    ['with text that is not JSON', (response) => response.end('<html>')],
    ['with deep JSON', (response) => response.end(`{"versions":{"1.0.0":${'['.repeat(100_000)}`)],
    ['with damaged gzip', (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip')],
    [
      'with the beginning of gzip, and hangs up',
      (response) =>
        response
          .writeHead(200, { 'content-encoding': 'gzip', 'content-length': '90000' })
          .write(gzipSync(randomBytes(90_000)).subarray(0, 40_000), () => response.destroy()),
    ],
    ['with half of a list', (response) => response.end('{"name":"x","versions":{')],
    ['with an error', (response) => response.writeHead(500).end()],
    ['with a demand to wait', (response) => response.writeHead(429, { 'retry-after': '60' }).end()],
  ])('%s is an upstream error, which others do not notice', async (_, answer) => {
    const name = fresh()
    upstream.lie(name, (_request, response) => answer(response))
    expect((await read(name)).status).toBe(502)
  })

  test('with hostile names and versions shows the others', async () => {
    const name = fresh()
    await upstream.put(name, { '1.0.0': old() })
    const { versions, time } = (await (await fetch(`${upstream.url}/${name}`)).json()) as Packument
    const good = versions['1.0.0']!
    const listed = {
      ...versions,
      '../../x': { ...good, version: '../../x' },
      '2.0.0': { ...good, version: '2.0.0', name: 'other' },
      '3.0.0': { ...good, version: '3.0.0', dist: { ...good.dist, tarball: 'file:///etc/passwd' } },
      __proto__: { ...good },
      '4.0.0': null,
    }
    upstream.lie(name, (_, response) => response.end(JSON.stringify({ name, 'dist-tags': {}, time, versions: listed })))
    expect(versionsOf(await read(name))).toEqual(['1.0.0'])
  })

  test('about what a file needs has it held for a review', async () => {
    const name = fresh()
    await upstream.put(name, { '1.0.0': { ...old(), fields: { dependencies: { evil: '1' } }, listed: {} } })
    await read(name)
    const { status, body } = await file(name)
    expect([status, body.code]).toEqual([403, 'policy_hold'])
    expect(versionsOf(await read(name))).toEqual([])
  })

  test('with new bytes for a version that is here changes nothing for clients', async () => {
    const name = fresh()
    await upstream.put(name, { '1.0.0': old() })
    const before = (await read(name)).body.versions['1.0.0']!.dist.integrity
    await file(name)
    await upstream.put(name, { '1.0.0': { ...old(), fields: { description: 'other' } } })
    later(6)
    expect((await read(name)).body.versions['1.0.0']!.dist.integrity).toBe(before)
  })

  test('gets a credential at its own address only', async () => {
    const name = fresh()
    const other = await startNpmRegistry()
    await upstream.put(name, { '1.0.0': old() })
    await other.put(name, { '1.0.0': old() })
    upstream.lie(`${name}/-/${name}-1.0.0.tgz`, (_, response) =>
      response.writeHead(302, { location: `${other.url}/${name}/-/${name}-1.0.0.tgz` }).end(),
    )
    const before = upstream.credentials.length
    await read(name, 'signed')
    expect((await file(name, '1.0.0', 'signed')).status).toBe(200)
    expect(upstream.credentials.slice(before)).toEqual(['Bearer secret', 'Bearer secret'])
    expect(other.credentials).toEqual([undefined])
    const shown = await as('GET', '/registries/npm/signed')
    expect(shown.body['upstream']).toEqual({ url: upstream.url, has_credential: true })
    expect(shown.text).not.toContain('secret')
    await other.close()
  })
})

test('what an upstream answers after it was replaced is not taken for an answer of the new one', async () => {
  const name = fresh()
  const other = await startNpmRegistry()
  await upstream.put(name, { '1.0.0': old() })
  await other.put(name, { '2.0.0': old() })
  await make('moved')
  upstream.lie(name, (_, response) => {
    const dist = { shasum: 'a'.repeat(40), tarball: 'x' }
    const listed = JSON.stringify({ name, versions: { '1.0.0': { name, version: '1.0.0', dist } } })
    void as('PATCH', '/registries/npm/moved', { body: { upstream: { url: other.url } } }).then(({ status }) =>
      response.writeHead(status).end(listed),
    )
  })
  expect([200, 404]).toContain((await read(name, 'moved')).status)
  expect(versionsOf(await read(name, 'moved'))).toEqual(['2.0.0'])
  await other.close()
})

describe('names that belong to repositories here', () => {
  test('a hosted name never comes from an upstream, in any repository and letter case', async () => {
    const name = fresh()
    await upstream.put(name, { '99.0.0': old() })
    await upstream.put(name.toUpperCase(), { '99.0.0': old() })
    expect((await at.publish('team', name, '1.0.0')).status).toBe(201)
    const before = upstream.asked.length
    expect(versionsOf(await read(name, 'both'))).toEqual(['1.0.0'])
    expect((await file(name, '99.0.0', 'both')).status).toBe(404)
    expect((await read(name)).status).toBe(404)
    expect((await read(name.toUpperCase())).status).toBe(404)
    expect((await file(name, '99.0.0')).status).toBe(404)
    expect(upstream.asked.length).toBe(before)
  })

  test('a claimed scope is asked for nowhere, also what was fetched before', async () => {
    await upstream.put('@claimed/lib', { '1.0.0': old() })
    expect((await read('@claimed/lib')).status).toBe(200)
    expect((await file('@claimed/lib')).status).toBe(200)
    const claim = (pattern: string) => as('POST', '/registries/npm/team/claims', { body: { pattern } })
    expect((await claim('@claimed/*')).status).toBe(201)
    expect((await claim('@claimed/*')).status).toBe(409)
    const before = upstream.asked.length
    for (const repo of ['proxy', 'both']) {
      expect((await read('@claimed/lib', repo)).status).toBe(404)
      expect((await file('@claimed/lib', '1.0.0', repo)).status).toBe(404)
    }
    expect(upstream.asked.length).toBe(before)
    const removed = await as('DELETE', '/registries/npm/team/claims?pattern=%40Claimed%2F*')
    expect(removed.status).toBe(200)
    expect((await read('@claimed/lib')).status).toBe(200)
  })

  test('a claim that is made while a list is fetched wins', async () => {
    const name = fresh()
    await upstream.put(name, { '1.0.0': old() })
    upstream.lie(name, (_, response) => {
      void as('POST', '/registries/npm/team/claims', { body: { pattern: name } }).then(() =>
        response.end(JSON.stringify({ name, versions: {} })),
      )
    })
    expect((await read(name)).status).toBe(404)
    expect((await read(name)).status).toBe(404)
  })

  test('a group gives what its hosted members do not have from its proxy', async () => {
    const name = fresh()
    await upstream.put(name, { '1.0.0': old() })
    expect(versionsOf(await read(name, 'both'))).toEqual(['1.0.0'])
    expect((await file(name, '1.0.0', 'both')).status).toBe(200)
  })
})

test.each<[string, object]>([
  ['without an upstream', { upstream: undefined }],
  ['with an address that is none', { upstream: { url: 'registry' } }],
  ['with a credential in its address', { upstream: { url: 'https://a:b@registry.test' } }],
  ['that is hosted', { kind: 'hosted' }],
])('a proxy %s is refused', async (_, more) => {
  expect((await make(`refused-${++names}`, more)).status).toBe(400)
})
