// Imports from an upstream repository: another Gatehouse service, whose signed indexes are read over HTTP.
import { once } from 'node:events'
import { readdir, rm } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FormatId } from '../formats.ts'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { buildRpm } from '../samples/rpm.ts'
import { removeTemporary, startService, type Service } from '../service.ts'

interface Kind {
  codename: string
  arch: string
  version: string
  build(name: string): Promise<Buffer> | Buffer
  source(): Promise<Record<string, unknown>>
}

let upstream: Service
let service: Service
const text = async (url: string) => (await fetch(url)).text()
const KINDS: Record<FormatId, Kind> = {
  deb: {
    ...{ codename: 'jammy', arch: 'amd64', version: '1.0-1' },
    build: (name) => buildDeb({ name, version: '1.0-1' }),
    source: async () => ({
      ...{ type: 'apt', url: `${upstream.apt}/repos`, distribution: 'jammy', components: ['main'] },
      gpg_key: await text(`${upstream.apt}/repos/gpg.key`),
    }),
  },
  rpm: {
    ...{ codename: 'almalinux9', arch: 'x86_64', version: '1.0-1' },
    build: (name) => buildRpm({ name, version: '1.0', release: '1', arch: 'x86_64' }),
    source: async () => ({
      ...{ type: 'rpm', url: `${upstream.rpm}/repos/almalinux9/x86_64` },
      gpg_key: await text(`${upstream.rpm}/repos/gpg.key`),
    }),
  },
  apk: {
    ...{ codename: 'alpine3.21', arch: 'x86_64', version: '1.0-r1' },
    build: (name) => buildApk({ name, version: '1.0-r1' }),
    source: async () => ({
      ...{ type: 'apk', url: `${upstream.apt}/apk/alpine3.21/main` },
      gpg_key: await text(`${upstream.apt}/apk/svc.rsa.pub`),
    }),
  },
}
const FORMATS = Object.keys(KINDS) as FormatId[]

beforeAll(async () => {
  ;[upstream, service] = await Promise.all([
    startService({ env: { REPO_FORMAT: 'all' } }),
    startService({ env: { REPO_FORMAT: 'all' } }),
  ])
  for (const format of FORMATS) await offer(format, 'wanted')
})
afterAll(async () => {
  await upstream?.stop()
  await service?.stop()
  await removeTemporary()
})

async function offer(format: FormatId, name: string): Promise<void> {
  const { build, codename } = KINDS[format]
  const { status } = await upstream.upload(await build(name), 'any', { distribution: codename })
  expect(status).toBe(201)
}

/** @returns the events of a sync */
async function sync(id: number): Promise<Record<string, unknown>[]> {
  const reply = await fetch(`${service.api}/api/v1/import/sources/${id}/sync`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}` },
  })
  expect(reply.status).toBe(200)
  return [...(await reply.text()).matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]!) as never)
}

describe.each(FORMATS)('%s', (format) => {
  const { codename, arch, version, source } = KINDS[format]
  let id: number
  const search = (q: string) => service.call('GET', `/import/search?q=${q}&source_id=${id}`)
  const importOne = (name: string, more: object = {}) =>
    service.call('POST', '/import/packages', {
      ...{ source_id: id, package: name, version, arch, distribution: codename },
      ...more,
    })

  it('a source is created, and has no catalog before its first sync', async () => {
    const { status, body } = await service.call('POST', '/import/sources', {
      name: `up-${format}`,
      ...(await source()),
    })
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({ name: `up-${format}`, status: 'never', pkg_count: 0 }),
    ])
    id = body.id
    expect((await search('wanted')).body).toMatchObject({ code: 'index_empty', source_id: id })
    expect((await importOne('wanted')).body).toMatchObject({ code: 'index_empty' })
    const twice = await service.call('POST', '/import/sources', { name: `up-${format}`, ...(await source()) })
    expect(twice.body.code).toBe('already_exists')
  })

  it('a sync reports its progress, and the catalog can be searched', async () => {
    const events = await sync(id)
    expect(events.map(({ status }) => status)).toEqual(['started', 'downloading', 'verifying', 'syncing', 'done'])
    expect(events.at(-1)).toMatchObject({ count: 1, source_id: id })
    const { body } = await search('WANT')
    expect(body).toMatchObject({ total: 1, results: [{ name: 'wanted', version, arch, format, source_id: id }] })
    const { sources } = (await service.call('GET', '/import/sources')).body
    expect(sources.find((one: { id: number }) => one.id === id)).toMatchObject({
      ...{ status: 'ok', pkg_count: 1, error: null, signed_by: [expect.any(String)] },
    })
  })

  it('an unchanged upstream costs a check, and a changed one brings what is new', async () => {
    expect((await sync(id)).map(({ status }) => status)).toEqual(['started', 'verifying', 'done'])
    await offer(format, 'later')
    expect((await sync(id)).at(-1)).toMatchObject({ status: 'done', count: 2 })
    expect((await search('later')).body.total).toBe(1)
  })

  it('a package is imported through the gate and published', async () => {
    const { status, body } = await importOne('wanted')
    expect(body).toMatchObject({ status: 'published', method: 'import', source: { id, name: `up-${format}` } })
    expect(status).toBe(201)
    const { body: artifact } = await service.call('GET', '/artifacts/wanted')
    const record = artifact.versions.find((one: { distribution: string }) => one.distribution === codename)
    expect(record).toMatchObject({ served: true, source: { import_method: 'import', source_id: id } })
    const { body: log } = await service.call('GET', `/artifacts/audit/logs?action=IMPORT&distribution=${codename}`)
    expect(log.items[0]).toMatchObject({ user: 'admin', package: 'wanted', outcome: 'published' })
    expect((await importOne('wanted')).status).toBe(409)
    expect((await importOne('never-heard-of')).body.code).toBe('not_found')
  })

  it('a package that upstream no longer has is refused, and nothing is stored', async () => {
    for (const path of await readdir(upstream.reposDir, { recursive: true }))
      if (/(^|\/)later[-_][^/]*$/.test(path)) await rm(join(upstream.reposDir, path), { force: true })
    const { status, body } = await importOne('later')
    expect([status, body.code, body.reason]).toEqual([502, 'upstream_error', 'missing'])
    expect((await service.call('GET', '/artifacts/later')).status).toBe(404)
  })

  it('an upstream that another key signed is not believed, and the old catalog stays', async () => {
    const other = format === 'apk' ? 'apk/svc.rsa.pub' : 'repos/gpg.key'
    const { status } = await service.call('PATCH', `/import/sources/${id}`, {
      gpg_key: await text(`${service.apt}/${other}`),
    })
    expect(status).toBe(200)
    expect((await sync(id)).at(-1)).toMatchObject({ status: 'error', code: 'upstream_error', reason: 'signature' })
    const { sources } = (await service.call('GET', '/import/sources')).body
    expect(sources.find((one: { id: number }) => one.id === id)).toMatchObject({ status: 'error', pkg_count: 2 })
    expect((await search('wanted')).body.total).toBe(1)
  })

  it('a deleted source takes its catalog along', async () => {
    expect((await service.call('DELETE', `/import/sources/${id}`)).body).toMatchObject({ status: 'deleted', id })
    expect((await search('wanted')).body.code).toBe('index_empty')
  })
})

describe('an rpm source whose index is not signed', () => {
  const passOn = async (path: string, response: ServerResponse) => {
    if (path.endsWith('.asc')) return void response.writeHead(404).end()
    const found = await fetch(`${upstream.rpm}/repos/almalinux9/x86_64${path}`)
    response.writeHead(found.status).end(Buffer.from(await found.arrayBuffer()))
  }
  const server = createServer((request, response) => void passOn(request.url ?? '/', response))
  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    await offer('rpm', 'vouched')
  })
  afterAll(() => server.close())

  it.each([
    ['the package has signed too', () => upstream, 201, { status: 'published' }],
    ['has signed nothing', () => service, 502, { code: 'upstream_error', reason: 'signature' }],
  ] as const)('with a key that %s', async (_, owner, status, expected) => {
    const { port } = server.address() as AddressInfo
    const { body: source } = await service.call('POST', '/import/sources', {
      ...{ name: `key for ${status}`, type: 'rpm', url: `http://127.0.0.1:${port}/` },
      ...{ target: 'almalinux9', allow_unsigned: true, gpg_key: await text(`${owner().rpm}/repos/gpg.key`) },
    })
    expect((await sync(source.id)).at(-1)).toMatchObject({ status: 'done', left_out: 0 })
    const imported = await service.call('POST', '/import/packages', {
      ...{ source_id: source.id, package: 'vouched', version: '1.0-1', arch: 'x86_64', distribution: 'almalinux9' },
    })
    expect([imported.status, imported.body]).toEqual([status, expect.objectContaining(expected)])
    await service.call('DELETE', '/artifacts/vouched')
    await service.call('DELETE', `/import/sources/${source.id}`)
  })
})

it.each([
  ['a link-local address', 'http://169.254.169.254/latest'],
  ['a directory that is not an import directory', 'file:///etc'],
])('%s is not read', async (_, url) => {
  const body = { name: url, type: 'rpm', url, allow_unsigned: true }
  const created = await service.call('POST', '/import/sources', body)
  const refused = created.status === 201 ? (await sync(created.body.id)).at(-1) : created.body
  expect(refused).toMatchObject({ code: 'forbidden_target' })
})

it('a source with a password in its address is refused', async () => {
  const body = { name: 'secret', type: 'rpm', url: 'https://me:secret@example.org/', allow_unsigned: true }
  expect((await service.call('POST', '/import/sources', body)).body).toMatchObject({ code: 'validation_error' })
})

it('a source without a key is added, says so, and is not read', async () => {
  const { status, body } = await service.call('POST', '/import/sources', {
    name: 'x',
    type: 'rpm',
    url: 'https://example.org/',
  })
  expect([status, body.error]).toEqual([201, expect.stringContaining('no key')])
  const synced = await service.call('POST', `/import/sources/${body.id}/sync`)
  expect(JSON.stringify(synced.body)).toContain('upstream_error')
})
