// /import/sources: which sources may be stored, and what is reported about a source without a key.
import { afterAll, describe, expect, test } from 'vitest'
import { eventsOf } from './http.ts'
import { startGate } from './harness.ts'

interface Source {
  id: number
  error: string | null
  status: string
  url: string
}

const gate = await startGate()
afterAll(() => gate.close())

const add = (body: object) => gate.call<Source>('POST', '/import/sources', { body })
const change = (id: number, body: object) => gate.call<Source>('PATCH', `/import/sources/${id}`, { body })

test('the body of the specification, which has no key, makes a source whose sync says what is missing', async () => {
  const body = {
    name: 'spec',
    type: 'apt',
    url: 'http://127.0.0.1:9/debian',
    distribution: 'bookworm',
    components: ['main'],
  }
  const { status, body: source } = await add(body)
  expect([status, source]).toMatchObject([201, { status: 'never', error: expect.stringContaining('`gpg_key`') }])

  const { text } = await gate.call('POST', `/import/sources/${source.id}/sync`)
  expect(JSON.parse(eventsOf(text).at(-1)?.data ?? '{}')).toMatchObject({
    ...{ status: 'error', code: 'upstream_error', message: expect.stringContaining('`gpg_key`') },
  })

  expect(await change(source.id, { allow_unsigned: true })).toMatchObject({
    status: 200,
    body: { status: 'never', error: null },
  })
})

test('the key of a source cannot be taken away by itself', async () => {
  const { body } = await add({ name: 'keyed', type: 'rpm', url: 'http://127.0.0.1:9/rpm', gpg_key: 'any text' })
  expect(body.error).toBeNull()
  expect(await change(body.id, { gpg_key: null })).toMatchObject({ status: 400, body: { code: 'validation_error' } })
  expect(await change(body.id, { gpg_key: null, allow_unsigned: true })).toMatchObject({ status: 200 })
})

describe.each([
  'http://169.254.169.254/latest/',
  'http://2852039166/',
  'http://[::ffff:169.254.169.254]/',
  'http://[fe80::1]/',
  'http://metadata.google.internal/computeMetadata/v1/',
  'https://Metadata.Google.Internal./',
])('%s', (url) => {
  test('is refused when it is saved, also where private addresses are allowed', async () => {
    const refused = { status: 400, body: { code: 'forbidden_target' } }
    expect(await add({ name: url, type: 'rpm', url, allow_unsigned: true })).toMatchObject(refused)
    expect(await add({ name: url, type: 'rpm', url, mirrors: 'metalink' })).toMatchObject(refused)
    const name = `good ${url}`
    const { body } = await add({ name, type: 'rpm', url: `http://mirror.example/${encodeURIComponent(url)}` })
    expect(await change(body.id, { url })).toMatchObject(refused)
    const { sources } = (await gate.call<{ sources: Source[] }>('GET', '/import/sources')).body
    expect(sources.filter((one) => one.url === url)).toEqual([])
  })
})
