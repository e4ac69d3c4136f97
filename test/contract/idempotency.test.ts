// `Idempotency-Key`: what is sent twice is made once.
import { request } from 'node:http'
import { afterAll, describe, expect, test } from 'vitest'
import { declarations } from '../../src/api/contract.ts'
import { buildDeb } from '../samples/deb.ts'
import { startGate, PASSWORD, type CallOptions, type Gate } from './harness.ts'
import { form, type Reply } from './http.ts'

const gate = await startGate()
afterAll(() => gate.close())

let keys = 0
const newKey = () => `key-${++keys}`
const post = (path: string, key: string, body?: unknown, more: CallOptions = {}) =>
  gate.call('POST', path, {
    ...(body === undefined ? {} : { body }),
    ...more,
    headers: { ...more.headers, 'idempotency-key': key },
  })
const isReplay = ({ headers }: Reply) => headers['idempotency-replayed'] === 'true'

async function uploadOf(name: string, fields: Record<string, string> = { distribution: 'jammy' }) {
  return form([
    ...Object.entries(fields).map(([field, value]) => ({ name: field, value })),
    { name: 'file', value: await buildDeb({ name }), filename: 'a.deb' },
  ])
}

test('every POST that creates, for callers with a credential, takes a key', () => {
  const creating = declarations.filter(
    ({ method, success, access }) => method === 'POST' && success === 201 && access !== 'public',
  )
  expect(creating.length).toBeGreaterThan(5)
  expect(creating.filter(({ idempotencyKey }) => !idempotencyKey)).toEqual([])
  const taking = declarations.filter(({ idempotencyKey }) => idempotencyKey)
  // Streams are not kept.
  expect(taking.filter(({ method, answer, access }) => method !== 'POST' || !answer || access === 'public')).toEqual([])
})

describe.each<[string, string, (n: number) => object | undefined, string]>([
  ['a user', '/auth/users', (n) => ({ username: `twice-${n}`, password: PASSWORD, role: 'reader' }), '/auth/users'],
  ['an API token', '/auth/api-tokens', (n) => ({ name: `twice-${n}` }), '/auth/api-tokens'],
  [
    'a source',
    '/import/sources',
    (n) => ({ name: `s${n}`, type: 'rpm', url: `http://127.0.0.1:9/${n}` }),
    '/import/sources',
  ],
  ['a reservation', '/import/reservations', (n) => ({ pattern: `twice-${n}-*` }), '/import/reservations'],
  ['a backup', '/backup', () => undefined, '/backup'],
])('%s', (_, path, bodyOf, list) => {
  const count = async () => {
    const { body } = await gate.call('GET', list)
    return (body['total'] ?? (body['backups'] as unknown[]).length) as number
  }

  test('is made once, and the second answer is the first one', async () => {
    const [key, body] = [newKey(), bodyOf(1)]
    const first = await post(path, key, body)
    expect([first.status, isReplay(first)], first.text).toEqual([201, false])
    const made = await count()
    for (const again of [await post(path, key, body), await post(path, `"${key}"`, body)])
      expect([again.status, isReplay(again), again.body]).toEqual([201, true, first.body])
    expect(await count()).toBe(made)
  })
})

describe('an upload', () => {
  test('is taken once, and sent again it is compared by its digest', async () => {
    const key = newKey()
    const { body, headers } = await uploadOf('sent-twice')
    const first = await post('/upload', key, body, { headers })
    const again = await post('/upload', key, body, { headers })
    expect([first.status, isReplay(first)], first.text).toEqual([201, false])
    expect([again.status, isReplay(again), again.body]).toEqual([201, true, first.body])
    expect(again.headers['x-package-status']).toBe('published')
    // Without the key the same bytes are a second upload.
    expect((await gate.call('POST', '/upload', { body, headers })).body['code']).toBe('already_exists')
  })

  test.each([
    ['another file', 'one-file', 'another-file', 'jammy'],
    ['another distribution', 'same-file', 'same-file', 'focal'],
  ])('with %s is another request', async (_, first, second, distribution) => {
    const key = newKey()
    const one = await uploadOf(first)
    expect((await post('/upload', key, one.body, { headers: one.headers })).status).toBe(201)
    const { body, headers } = await uploadOf(second, { distribution })
    const reply = await post('/upload', key, body, { headers })
    expect([reply.status, reply.body['code']]).toEqual([422, 'idempotency_key_reused'])
  })

  test('that is still arriving is not begun again, and one that breaks off leaves its key free', async () => {
    const key = newKey()
    const { body, headers } = await uploadOf('broken-off')
    const open = await beginUpload(gate, key, body, headers)
    const second = await whileRunning(key)
    expect([second.status, second.body['code']]).toEqual([409, 'idempotency_in_progress'])
    open.destroy()
    await expect.poll(async () => (await post('/upload', key, body, { headers })).status, { timeout: 30_000 }).toBe(201)
  })
})

describe('a key', () => {
  const user = (username: string) => ({ username, password: PASSWORD, role: 'reader' })

  test('belongs to one request: its address and its body', async () => {
    const key = newKey()
    await post('/auth/users', key, user('first-use'))
    for (const reply of [
      await post('/auth/users', key, user('second-use')),
      await post('/auth/api-tokens', key, { name: 'second-use' }),
    ])
      expect([reply.status, reply.body['code']]).toEqual([422, 'idempotency_key_reused'])
    expect((await gate.call('GET', '/auth/users/second-use')).status).toBe(404)
  })

  test('belongs to one caller', async () => {
    const key = newKey()
    const body = { pattern: 'of-two-callers' }
    await post('/import/reservations', key, body)
    const other = await post('/import/reservations', key, body, { as: gate.people.maintainer.session })
    expect([other.status, other.body['code']]).toEqual([409, 'already_exists'])
    // Another session of the same person is the same caller.
    const later = await post('/import/reservations', key, body, { as: await gate.login(gate.people.admin.username) })
    expect([later.status, isReplay(later)]).toEqual([201, true])
  })

  test('of a request that failed is free', async () => {
    const key = newKey()
    expect((await post('/auth/users', key, { ...user('after-failure'), role: 'king' })).status).toBe(400)
    const second = await post('/auth/users', key, user('after-failure'))
    expect([second.status, isReplay(second)]).toEqual([201, false])
  })

  test('is forgotten after a day', async () => {
    const key = newKey()
    await post('/auth/api-tokens', key, { name: 'of-yesterday' }, { as: gate.people.admin.token })
    gate.clock.advance(24 * 3_600_000 + 1)
    const later = await post('/auth/api-tokens', key, { name: 'of-yesterday' }, { as: gate.people.admin.token })
    expect([later.status, later.body['code']]).toEqual([409, 'already_exists'])
  })

  test.each(['', 'a b', 'x'.repeat(256)])('%j is refused', async (key) => {
    const reply = await post('/auth/users', key, user('of-no-key'), { as: gate.people.admin.token })
    expect([reply.status, reply.body['code']]).toEqual([400, 'validation_error'])
  })
})

test('of many requests at once one is carried out', async () => {
  const key = newKey()
  const body = { username: 'at-once', password: PASSWORD, role: 'reader' }
  const as = gate.people.admin.token
  const replies = await Promise.all(Array.from({ length: 10 }, () => post('/auth/users', key, body, { as })))
  expect(replies.filter((reply) => reply.status === 201 && !isReplay(reply))).toHaveLength(1)
  for (const reply of replies) expect([201, 409], reply.text).toContain(reply.status)
  expect(replies.filter(({ body: { code } }) => code === 'already_exists')).toEqual([])
})

/** Begins an upload and sends half of it. */
async function beginUpload({ port, people }: Gate, key: string, body: Buffer, headers: Record<string, string>) {
  const open = request({
    ...{ host: '127.0.0.1', port, method: 'POST', path: '/api/v1/upload', agent: false },
    headers: {
      ...{ ...headers, authorization: `Bearer ${people.admin.session}`, 'content-length': String(body.length) },
      'idempotency-key': key,
    },
  })
  open.on('error', () => {})
  await new Promise<void>((resolve) => void open.write(body.subarray(0, body.length / 2), () => resolve()))
  return open
}

/** Asks until the upload that was begun is known; before that, a form without a file is refused, and the key stays free. */
async function whileRunning(key: string): Promise<Reply> {
  const { body, headers } = form([{ name: 'distribution', value: 'jammy' }])
  for (;;) {
    const reply = await post('/upload', key, body, { headers })
    if (reply.body['code'] !== 'validation_error') return reply
  }
}
