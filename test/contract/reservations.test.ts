// Reserved names: a package that claims one is refused, whatever way it arrives, by the names in its file.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { aptFiles, sha256, stanza } from '../../src/upstream/fixture.ts'
import { buildDeb, type SampleDeb } from '../samples/deb.ts'
import { startGate, type Gate } from './harness.ts'
import { lastAudited } from './packages/seen.ts'

let directory: string
let gate: Gate
const source = { id: 0 }

/** The packages that the repository lists, each with its file. */
const LISTED: { name: string; depends?: string; file: SampleDeb }[] = [
  { name: 'acme-agent', file: { name: 'acme-agent' } },
  { name: 'harmless', file: { name: 'acme-hidden' } },
  { name: 'innocent', file: { name: 'innocent', fields: { Provides: 'acme-agent (= 9)' } } },
  { name: 'plain', file: { name: 'plain' } },
  { name: 'acme-needy', depends: 'only-needed', file: { name: 'acme-needy' } },
  { name: 'only-needed', file: { name: 'only-needed' } },
]

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'reservations-'))
  gate = await startGate({ env: { IMPORT_DIRECTORIES: directory } })
  const stanzas: string[] = []
  const put = async (path: string, content: string | Uint8Array) => {
    await mkdir(dirname(join(directory, path)), { recursive: true })
    await writeFile(join(directory, path), content)
  }
  for (const { name, depends = null, file } of LISTED) {
    const bytes = await buildDeb(file)
    const Filename = `pool/${name}.deb`
    await put(Filename, bytes)
    const stated = { Package: name, Version: '1.0-1', Depends: depends, Filename }
    stanzas.push(stanza({ ...stated, Size: String(bytes.length), SHA256: sha256(bytes) }))
  }
  const { release, files } = aptFiles({ packages: stanzas.join('') })
  for (const [path, content] of Object.entries({ ...files, 'dists/test/Release': release })) await put(path, content)
  const { body } = await gate.call('POST', '/import/sources', {
    body: {
      ...{
        name: 'others',
        type: 'apt',
        url: pathToFileURL(directory).href,
        distribution: 'test',
        allow_unsigned: true,
      },
    },
  })
  source.id = Number(body['id'])
  const { text } = await gate.call('POST', `/import/sources/${source.id}/sync`)
  expect(text).toContain('"done"')
})
afterEach(async () => {
  const { body } = await gate.call('GET', '/import/reservations')
  for (const { id } of body['reservations'] as { id: number }[]) await gate.call('DELETE', `/import/reservations/${id}`)
})
afterAll(async () => {
  await gate.close()
  await rm(directory, { recursive: true, force: true })
})

const reserve = (pattern: string, sourceId?: number) =>
  gate.call('POST', '/import/reservations', { body: { pattern, ...(sourceId ? { source_id: sourceId } : {}) } })
const importOne = (name: string) =>
  gate.call('POST', '/import/packages', {
    body: { source_id: source.id, package: name, version: '1.0-1', arch: 'amd64', distribution: 'jammy' },
  })
const upload = async (name: string) => gate.upload(await buildDeb({ name }), { distribution: 'jammy' })

test.each([
  ['has the name in the catalog', 'acme-agent', 'name', 'acme-agent'],
  ['has the name in its file alone', 'harmless', 'name', 'acme-hidden'],
  ['provides the name', 'innocent', 'provides', 'acme-agent'],
])('a package that %s is not imported, and the refusal is audited', async (_, name, claim, reserved) => {
  await reserve('acme-*')
  const reply = await importOne(name)
  expect([reply.status, reply.body]).toMatchObject([
    409,
    { code: 'name_reserved', claim, reserved_name: reserved, pattern: 'acme-*', reserved_for_source: null },
  ])
  expect(await lastAudited(gate, { action: 'IMPORT' })).toMatchObject({ result: 'FAILURE', outcome: 'name_reserved' })
  expect((await gate.call('GET', `/artifacts/${name}`)).status).toBe(404)
})

test('a file that is another package than its source lists is refused without a reservation too', async () => {
  const reply = await importOne('harmless')
  expect([reply.status, reply.body]).toMatchObject([502, { code: 'upstream_error', reason: 'malformed' }])
  expect(reply.body['detail']).toBe(
    'the source lists harmless 1.0-1 (amd64), and the file is acme-hidden 1.0-1 (amd64)',
  )
  for (const name of ['harmless', 'acme-hidden'])
    expect((await gate.call('GET', `/artifacts/${name}`)).status).toBe(404)
  const { text } = await gate.call('POST', '/import/fetch', {
    body: { packages: [{ source_id: source.id, package: 'harmless', version: '1.0-1' }], distribution: 'jammy' },
  })
  expect(text).toContain('upstream_error')
  expect((await gate.call('GET', '/artifacts/acme-hidden')).status).toBe(404)
})

test('a change of a source writes what its declaration names, and nothing else', async () => {
  const path = `/import/sources/${source.id}`
  const one = async () =>
    ((await gate.call('GET', '/import/sources')).body['sources'] as { id: number }[]).find(({ id }) => id === source.id)
  const before = await one()
  const forged = { created_by: 'root', signed_by: ['x'], key: 'forged', type: 'rpm', status: 'error', pkg_count: 5 }
  const hidden = { seen: null, created_at: '2020-01-01', last_sync: null, id: 99, x: 1, toString: 1 }
  expect((await gate.call('PATCH', path, { body: { ...forged, ...hidden, security: true } })).status).toBe(200)
  expect(await one()).toEqual({ ...before, security: true, updated_at: expect.any(String) })
  await gate.call('PATCH', path, { body: { security: false } })
  // The stored state of the repository is unchanged, so nothing is read again.
  const { text } = await gate.call('POST', `${path}/sync`)
  expect(text).toContain('nothing changed since the last sync')
})

test('a bulk import reports the refusal, and brings the others', async () => {
  await reserve('acme-agent')
  const packages = ['acme-agent', 'innocent', 'plain'].map((name) => ({
    ...{ source_id: source.id, package: name, version: '1.0-1', arch: 'amd64' },
  }))
  const { body } = await gate.call('POST', '/import/', { body: { packages, distribution: 'jammy' } })
  const results = body['results'] as { package: string; status: string; code: string | null }[]
  expect(Object.fromEntries(results.map((one) => [one.package, one.code ?? one.status]))).toEqual({
    ...{ 'acme-agent': 'name_reserved', innocent: 'name_reserved', plain: 'added' },
  })
})

test('a package that is refused brings nothing that it needs', async () => {
  await reserve('acme-*')
  const wanted = { source_id: source.id, package: 'acme-needy', version: '1.0-1', arch: 'amd64' }
  const common = { distribution: 'jammy', with_dependencies: true }
  const one = await gate.call('POST', '/import/packages', { body: { ...wanted, ...common } })
  expect([one.status, one.body]).toMatchObject([409, { code: 'name_reserved' }])
  expect(await lastAudited(gate, { action: 'IMPORT' })).toMatchObject({
    ...{ package: 'acme-needy', outcome: 'name_reserved' },
  })
  const several = await gate.call('POST', '/import/', { body: { packages: [wanted], ...common } })
  expect(several.body['results']).toMatchObject([{ package: 'acme-needy', code: 'name_reserved' }])
  expect((await gate.call('GET', '/artifacts/only-needed')).status).toBe(404)
})

test('an upload of a name for uploads is accepted, and one of a name for a source is refused', async () => {
  await reserve('acme-*')
  expect((await upload('acme-own')).status).toBe(201)
  await reserve('base-files', source.id)
  const reply = await upload('base-files')
  expect([reply.status, reply.body]).toMatchObject([409, { code: 'name_reserved', reserved_for_source: source.id }])
})

test('a name for the source itself is imported', async () => {
  await reserve('*')
  await reserve('harm*', source.id)
  expect((await importOne('harmless')).body['code']).toBe('name_reserved')
  await reserve('acme-hidden', source.id)
  expect((await importOne('harmless')).status).not.toBe(409)
})

test('reservations are listed, created once, and audited', async () => {
  const { status, body } = await reserve('acme-*')
  expect([status, body]).toMatchObject([
    201,
    { pattern: 'acme-*', format: null, source_id: null, reserved_for: 'uploads' },
  ])
  expect((await reserve('ACME-*')).body['code']).toBe('already_exists')
  expect((await reserve('other', 2_000_000)).status).toBe(404)
  expect((await reserve('with space')).status).toBe(400)
  expect((await gate.call('GET', '/import/reservations')).body).toMatchObject({ total: 1, reservations: [body] })
  expect(await lastAudited(gate, { action: 'RESERVATION_CREATE' })).toMatchObject({ detail: 'acme-* for uploads' })
  expect((await gate.call('DELETE', `/import/reservations/${String(body['id'])}`)).body).toMatchObject({
    status: 'deleted',
  })
  expect((await gate.call('DELETE', `/import/reservations/${String(body['id'])}`)).status).toBe(404)
  expect(await lastAudited(gate, { action: 'RESERVATION_DELETE' })).toMatchObject({ detail: 'acme-* for uploads' })
})
