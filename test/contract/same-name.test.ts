// A name that exists in several formats: a deletion deletes exactly the records that are shown.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { buildRpm } from '../samples/rpm.ts'
import { startGate } from './harness.ts'

interface Detail {
  versions: { version: string; format: string; distribution: string }[]
  versions_total: number
  formats: string[]
  distributions: string[]
  info: { latest: string }
  manifest_status: string
}

const gate = await startGate({ env: { REPO_FORMAT: 'all' } })
afterAll(() => gate.close())

beforeAll(async () => {
  const put = async (file: Uint8Array, distribution: string) => {
    gate.clock.advance(1000)
    const { status, text } = await gate.upload(file, { distribution })
    if (status !== 201) throw new Error(text)
  }
  await put(await buildDeb({ name: 'curl', version: '7.88-1' }), 'bookworm')
  await put(await buildDeb({ name: 'curl', version: '8.5-1' }), 'noble')
  await put(await buildRpm({ name: 'curl' }), 'rocky9')
  // More versions than an answer has records: the other formats must not disappear behind them.
  for (let n = 0; n < 26; n++) await put(buildApk({ name: 'curl', version: `1.${n}-r0` }), 'alpine3.20')
})

const shown = async (query = '') => {
  const { status, body } = await gate.call<Detail>('GET', `/artifacts/curl${query}`)
  return { status, ...body }
}
const dry = (query: string) =>
  gate.call<{ deleted: number; versions: string[] }>('DELETE', `/artifacts/curl?dry_run=true${query}`)

test('a name is shown in all its formats and distributions, the last that came in first', async () => {
  const { formats, distributions, versions, versions_total, info } = await shown()
  expect(formats).toEqual(['apk', 'rpm', 'deb'])
  expect(distributions).toEqual(['alpine3.20', 'bookworm', 'noble', 'rocky9'])
  expect(versions_total).toBe(29)
  expect(versions).toHaveLength(25)
  expect(info.latest).toBe('1.25-r0')
  expect(versions.slice(-3).map(({ version, distribution }) => [version, distribution])).toEqual([
    [expect.any(String), 'rocky9'],
    ['8.5-1', 'noble'],
    ['7.88-1', 'bookworm'],
  ])
})

test.each([
  ['format=deb', 2, '8.5-1'],
  ['distribution=bookworm', 1, '7.88-1'],
  ['format=apk&version=1.3-r0', 1, '1.3-r0'],
  ['format=deb&arch=amd64', 2, '8.5-1'],
])('%s selects the same records to show as to delete', async (query, total, latest) => {
  const { versions_total, versions, info } = await shown(`?${query}`)
  expect([versions_total, versions.length, info.latest]).toEqual([total, total, latest])
  const [selected, version] = query.split('&version=')
  const { status, body } = version
    ? await gate.call<{ distributions: string[] }>('DELETE', `/artifacts/curl/${version}?dry_run=true&${selected}`)
    : await dry(`&${selected}`)
  expect(status).toBe(200)
  if (!version) expect(body).toMatchObject({ deleted: total })
})

test('a deletion without a filter takes all records that are shown', async () => {
  expect((await dry('')).body.deleted).toBe((await shown()).versions_total)
})

test.each([
  ['format=zip', 400, 'validation_error'],
  ['format=deb&distribution=rocky9', 404, 'not_found'],
  ['distribution=warty', 404, 'not_found'],
])('%s is refused alike', async (query, status, code) => {
  for (const method of ['GET', 'DELETE'])
    expect(await gate.call(method, `/artifacts/curl?${query}`)).toMatchObject({ status, body: { code } })
})

test('a deletion with a mistyped filter deletes nothing', async () => {
  for (const path of ['/artifacts/curl?distributon=noble', '/artifacts/curl/8.5-1?Format=deb'])
    expect(await gate.call('DELETE', path)).toMatchObject({ status: 400, body: { code: 'validation_error' } })
  expect((await shown()).versions_total).toBe(29)
})

test('dependencies are those of the selected format', async () => {
  const of = (query: string) => gate.call('GET', `/artifacts/curl/dependencies?${query}`)
  expect((await of('format=deb')).body).toMatchObject({ version: '8.5-1', distribution: 'noble' })
  expect((await of('')).body).toMatchObject({ version: '1.25-r0', distribution: 'alpine3.20' })
})
