// Debian itself as upstream: its main archive and its security suite are synced and verified, a package is imported with its
// dependencies, and apt installs it from our repository alone.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { debianSuite } from '../debian-mirror.ts'
import { need } from '../need.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { createAptRoot, type AptRoot } from './apt-root.ts'

/** For all architectures and without maintainer scripts, like its dependencies: so no system is needed to run them. */
const WANTED = 'libjs-backbone'
const DEPENDENCIES = ['libjs-underscore']

let service: Service
let root: AptRoot
beforeAll(async () => {
  need('debian-archive-keyring')
  service = await startService({ env: { ALLOW_PRIVATE_SOURCES: 'true' } })
  const key = await (await fetch(`${service.apt}/repos/gpg.key`)).text()
  root = await createAptRoot({ url: `${service.apt}/repos`, suite: 'bookworm', key })
})
afterAll(async () => {
  await root?.remove()
  await service?.stop()
  await removeTemporary()
})

/** Creates a source and reads it. @returns its id and the last event */
async function sync(suite: string): Promise<{ id: number; end: Record<string, unknown> }> {
  const debian = await debianSuite(suite)
  const { status, body } = await service.call('POST', '/import/sources', {
    ...{ name: `mirror of ${suite}`, type: 'apt', url: debian.url, distribution: debian.suite },
    ...{ components: [debian.component], arch: debian.architecture, gpg_key: debian.keys.join('\n') },
  })
  expect(status, JSON.stringify(body)).toBe(201)
  const reply = await fetch(`${service.api}/api/v1/import/sources/${String(body.id)}/sync`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}` },
  })
  const [last = ''] = (await reply.text()).match(/^data: .*$/gm)?.slice(-1) ?? []
  return { id: Number(body.id), end: JSON.parse(last.slice('data: '.length)) as Record<string, unknown> }
}

it('its archive is synced, and apt installs an imported package with its dependencies', async () => {
  const { id, end } = await sync('bookworm')
  expect(end).toMatchObject({ status: 'done', source_id: id })
  expect(end['count']).toBeGreaterThan(60_000)
  const { body: found } = await service.call('GET', `/import/search?q=${WANTED}&source_id=${id}`)
  const [first] = found.results
  expect(first).toMatchObject({ name: WANTED, arch: 'all' })
  const { status, body } = await service.call('POST', '/import/packages', {
    ...{ source_id: id, package: WANTED, version: first.version, arch: first.arch },
    ...{ distribution: 'bookworm', with_dependencies: true },
  })
  expect([status, body.status], JSON.stringify(body)).toEqual([201, 'published'])
  expect((body.results as { package: string }[]).map((one) => one.package)).toEqual(
    expect.arrayContaining(DEPENDENCIES),
  )
  expect(await root.update()).toMatchObject({ code: 0 })
  const { code, text } = await root.run('apt-get', 'install', WANTED)
  expect(code, text).toBe(0)
  expect(Object.keys(await root.installed()).sort()).toEqual([...DEPENDENCIES, WANTED].sort())
})

it('its security suite is synced', async () => {
  const { end } = await sync('bookworm-security')
  expect(end).toMatchObject({ status: 'done' })
  expect(end['count']).toBeGreaterThan(100)
})
