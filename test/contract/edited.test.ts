// `ETag` and `If-Match`: of two people who edit the same thing, the second learns of the first.
import { afterAll, describe, expect, test } from 'vitest'
import { declarations } from '../../src/api/contract.ts'
import { buildDeb } from '../samples/deb.ts'
import { PASSWORD, startGate, type CallOptions } from './harness.ts'

const gate = await startGate()
afterAll(() => gate.close())

const send = (method: string, path: string, body?: unknown, tag?: string) => {
  const options: CallOptions = { headers: tag === undefined ? {} : { 'if-match': tag } }
  return gate.call(method, path, body === undefined ? options : { ...options, body })
}
const tagOf = async (path: string) => String((await send('GET', path)).headers['etag'])

const UPSTREAM = 'http://127.0.0.1:9/second'

/** Each makes the thing and returns its address. */
const things: [string, () => Promise<string>, 'PATCH' | 'PUT', [object, object], suffix?: string][] = [
  ['a user', user, 'PATCH', [{ role: 'auditor' }, { full_name: 'Ada' }]],
  ['a source', source, 'PATCH', [{ enabled: false }, { gpg_key: 'another key' }]],
  ['a decision', decision, 'PATCH', [{ assigned_to: 'admin-person' }, { assigned_to: 'maintainer-person' }], '/assign'],
  ['a mirror', mirror, 'PUT', [{ globs: ['a*'] }, { globs: ['b*'] }]],
  [
    'the settings',
    async () => '/settings',
    'PATCH',
    [{ retention: { audit_days: 400 } }, { retention: { audit_days: 401 } }],
  ],
  ['rules of a proxy', proxy, 'PATCH', [{ curation: { min_age_days: 1 } }, { curation: { min_age_days: 2 } }]],
  [
    'the upstream of a proxy',
    proxy,
    'PATCH',
    [{ upstream: { url: UPSTREAM } }, { upstream: { url: `${UPSTREAM}/2` } }],
  ],
  ['the policy', async () => '/security/policy', 'PATCH', [{ low: 'warn' }, { low: 'allow' }]],
]

describe.each(things)('%s', (_, make, method, [one, two], suffix = '') => {
  test('is changed only in the state that was read', async () => {
    const path = await make()
    const read = await tagOf(path)
    expect(read).toMatch(/^"[^"]+"$/)
    const first = await send(method, `${path}${suffix}`, one, read)
    expect(first.status, first.text).toBe(200)
    const second = await send(method, `${path}${suffix}`, two, read)
    const now = await tagOf(path)
    expect(now).not.toBe(read)
    expect(second).toMatchObject({ status: 412, body: { code: 'changed_meanwhile', etag: now } })
    expect(await tagOf(path)).toBe(now)
    expect((await send(method, `${path}${suffix}`, two, now)).status).toBe(200)
  })

  test('of two changes at once with one tag, one is made', async () => {
    const path = await make()
    const read = await tagOf(path)
    const replies = await Promise.all([one, two].map((body) => send(method, `${path}${suffix}`, body, read)))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 412])
  })
})

describe.each<[string, () => Promise<string>, 'PATCH' | 'PUT', object, string?]>([
  ['a user', user, 'PATCH', { active: false }],
  ['a source', source, 'PATCH', { security: true }],
  ['a mirror', mirror, 'PUT', { globs: ['c*'] }],
  ['a decision', decision, 'PATCH', { assigned_to: 'admin-person' }, '/assign'],
])('%s', (_, make, method, body, suffix = '') => {
  test('is deleted only in the state that was read', async () => {
    const path = await make()
    const read = await tagOf(path)
    await send(method, `${path}${suffix}`, body)
    expect(await send('DELETE', path, undefined, read)).toMatchObject({
      status: 412,
      body: { code: 'changed_meanwhile' },
    })
    expect((await send('DELETE', path, undefined, await tagOf(path))).status).toBe(200)
  })
})

test('the refused person sees what it is now', async () => {
  const path = await user()
  const read = await tagOf(path)
  await send('PATCH', path, { role: 'uploader', email: 'ada@example.org' })
  expect((await send('PATCH', path, { role: 'auditor' }, read)).body).toMatchObject({
    current: { role: 'uploader', email: 'ada@example.org', active: true },
  })
})

test('also of a mirror and of a proxy', async () => {
  const [mirrored, asked] = [await mirror(), await proxy()]
  const [mirrorTag, proxyTag] = [await tagOf(mirrored), await tagOf(asked)]
  await send('PUT', mirrored, { globs: ['a*'], enabled: false })
  const curation = { min_age_days: 3, deny_licenses: ['AGPL-3.0-only'] }
  await send('PATCH', asked, { upstream: { url: UPSTREAM, authorization: 'Bearer x' }, curation })
  expect((await send('PUT', mirrored, { globs: ['b*'] }, mirrorTag)).body).toMatchObject({
    current: { distribution: 'jammy', enabled: false, selection: { globs: ['a*'], names: [], keep_latest: 1 } },
    updated_by: expect.any(String),
  })
  const refused = await send('PATCH', asked, { curation: { min_age_days: 4 } }, proxyTag)
  expect(refused.body).toMatchObject({
    code: 'changed_meanwhile',
    current: { public: false, upstream: { url: UPSTREAM, has_credential: true }, curation },
  })
  expect(refused.text).not.toContain('Bearer')
})

test('a sign-in is no edit', async () => {
  const path = await user()
  const read = await tagOf(path)
  await gate.login(path.split('/').at(-1)!)
  expect(await tagOf(path)).toBe(read)
  expect((await send('PATCH', path, { role: 'auditor' }, read)).status).toBe(200)
})

test('without the header, or with *, a change is made in any state', async () => {
  const path = await user()
  expect((await send('PATCH', path, { role: 'auditor' }, '*')).status).toBe(200)
  expect((await send('PATCH', path, { role: 'uploader' })).status).toBe(200)
  expect((await send('PATCH', path, { role: 'reader' }, '"another", "third"')).status).toBe(412)
})

test('whatever can be read alone and is changed, has a tag', () => {
  const key = ({ method, path }: { method: string; path: string }) => `${method} ${path}`
  const tagged = new Set(declarations.filter(({ edited }) => edited).map(key))
  const changed = declarations.filter(
    ({ method, path, protocol }) =>
      // Other protocols have ways of their own.
      !protocol &&
      ['PUT', 'PATCH'].includes(method) &&
      declarations.some((other) => other.method === 'GET' && other.path === path),
  )
  expect(changed.length).toBeGreaterThan(5)
  for (const one of changed)
    expect([key(one), tagged.has(key(one)), tagged.has(`GET ${one.path}`)]).toEqual([key(one), true, true])
})

let made = 0

async function user(): Promise<string> {
  const username = `edited-${++made}`
  await send('POST', '/auth/users', { username, password: PASSWORD, role: 'reader' })
  return `/auth/users/${username}`
}

async function source(): Promise<string> {
  const url = `http://127.0.0.1:9/${++made}`
  const { body } = await send('POST', '/import/sources', { name: url, type: 'rpm', url, gpg_key: 'a key' })
  return `/import/sources/${String(body['id'])}`
}

async function proxy(): Promise<string> {
  const name = `edited-${++made}`
  const upstream = { url: 'http://127.0.0.1:9/first' }
  const { status, text } = await send('POST', '/registries', { format: 'npm', name, kind: 'proxy', upstream })
  expect(status, text).toBe(201)
  return `/registries/npm/${name}`
}

async function mirror(): Promise<string> {
  const url = `http://127.0.0.1:9/${++made}`
  const { body } = await send('POST', '/import/sources', {
    ...{ name: url, type: 'apt', url, distribution: 'jammy', target: 'jammy', gpg_key: 'a key' },
  })
  const path = `/import/mirror/sources/${String(body['id'])}`
  const { status, text } = await send('PUT', path, { globs: ['*'] })
  expect(status, text).toBe(200)
  return path
}

async function decision(): Promise<string> {
  const name = `edited-${++made}`
  const rule = (on_unscanned: string) => send('PATCH', '/settings', { validation: { on_unscanned } })
  await rule('hold')
  await gate.upload(await buildDeb({ name }), { distribution: 'jammy' })
  await rule('allow')
  const { body, text } = await send('POST', `/security/packages/${name}/1.0-1/decide`, {
    ...{ decision: 'approve', justification: 'seen' },
  })
  expect(body['decision'], text).toBeDefined()
  return `/security/decisions/${String((body['decision'] as { id: number }).id)}`
}
