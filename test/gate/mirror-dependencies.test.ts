// A mirror with dependencies, of real repositories on loopback: dependencies of a new version come along, and stay while needed.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { waitFor } from '../crash/state.ts'
import { buildDeb } from '../samples/deb.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { addSource, startAptUpstream, type AptUpstream } from './apt-upstream.ts'

const CODENAME = 'jammy'
const SELECTION = { distribution: CODENAME, names: ['web'], with_dependencies: true, remove_withdrawn: true }
/** Packages brought by an upload and by another mirror. */
const OTHERS = ['elsewhere 1.0-1', 'here 1.0-1']
let apt: AptUpstream
let other: AptUpstream
let service: Service
let id: number
let otherId: number

beforeAll(async () => {
  apt = await startAptUpstream()
  other = await startAptUpstream()
  service = await startService({ env: { REPO_FORMAT: 'all' } })
  await upload('here', '1.0-1')
  await other.offer([{ name: 'elsewhere' }])
  otherId = await addSource(service, other, 'other', CODENAME)
  await apt.offer([
    sample('web', '1.0-1', 'lib (>= 1), here, elsewhere'),
    sample('lib', '1.0-1', 'lib-data'),
    ...[sample('lib-data', '1.0-1'), sample('here', '9.0-1'), sample('unrelated', '1.0-1')],
  ])
  id = await addSource(service, apt, 'apt')
})
afterAll(async () => {
  await service?.stop()
  await apt?.close()
  await other?.close()
  await removeTemporary()
})

const sample = (name: string, version: string, depends: string | null = null) => ({
  name,
  version,
  fields: { Depends: depends },
})
const upload = async (name: string, version: string, depends?: string) => {
  const { status } = await service.upload(await buildDeb(sample(name, version, depends)), `${name}.deb`, {
    distribution: CODENAME,
  })
  expect(status).toBe(201)
}
const call = async (method: string, path: string, body?: unknown) => {
  const reply = await service.call(method, path, body)
  expect([path, reply.status, reply.body]).toEqual([path, 200, expect.anything()])
  return reply.body
}

/** Runs the mirror and waits for its end. @returns its job and its lines */
async function run(source = id) {
  const { job_id } = await call('POST', `/import/mirror/start/${source}`)
  const job = await waitFor('the end of the run', async () => {
    const now = await call('GET', `/import/mirror/jobs/${job_id}`)
    return now.status !== 'running' && now
  })
  const { lines } = await call('GET', `/tasks/${job_id}`)
  return { job, lines: lines.map(({ message }: { message: string }) => message) as string[] }
}

async function published(): Promise<string[]> {
  const { items } = await call('GET', `/artifacts/?distribution=${CODENAME}&per_page=200`)
  return (items as { name: string; version: string; status: string }[])
    .filter(({ status }) => status === 'published')
    .map(({ name, version }) => `${name} ${version}`)
    .sort()
}

it('plans what the selection needs, and names what only another source has', async () => {
  const plain = await call('POST', `/import/mirror/sources/${id}/plan`, { ...SELECTION, with_dependencies: false })
  expect(plain).toMatchObject({ selected: 1, missing: 1, dependencies: null })
  const plan = await call('POST', `/import/mirror/sources/${id}/plan`, SELECTION)
  expect(plan).toMatchObject({ selected: 3, missing: 3 })
  expect(plan.dependencies).toEqual({
    ...{ selected: 2, missing: 2, truncated: false },
    unresolved: { total: 1, requirements: [{ name: 'elsewhere', needed_by: 'web' }] },
  })
  expect(plan.packages.map((one: any) => [one.name, one.needed_by])).toEqual([
    ['lib', 'web'],
    ['lib-data', 'lib'],
    ['web', null],
  ])
})

it('a mirror brings dependencies, and ends well although one is in another source', async () => {
  const mirror = await call('PUT', `/import/mirror/sources/${id}`, SELECTION)
  expect(mirror.selection).toMatchObject({ with_dependencies: true })
  const { job, lines } = await run()
  expect(job).toMatchObject({ status: 'done', added: 3, error: 0, dependencies: 2, unresolved: 1, stopped: null })
  expect(lines).toContain(`neither apt nor ${CODENAME} has elsewhere, which web needs`)
  expect(await published()).toEqual(['here 1.0-1', 'lib 1.0-1', 'lib-data 1.0-1', 'web 1.0-1'])
  await call('PUT', `/import/mirror/sources/${otherId}`, { names: ['elsewhere'] })
  expect((await run(otherId)).job).toMatchObject({ added: 1, dependencies: 0 })
  expect((await run()).job).toMatchObject({ total: 0, unresolved: 0, withdrawn: 0 })
})

it('a mirror brings dependencies of a new version, and newer versions of earlier ones, and removes those that they replace', async () => {
  await apt.offer([
    sample('web', '2.0-1', 'lib (>= 1), here, zlib-new'),
    sample('lib', '1.1-1', 'lib-data'),
    ...[sample('lib-data', '1.0-1'), sample('zlib-new', '1.0-1')],
  ])
  expect((await run()).job).toMatchObject({
    ...{ status: 'done', added: 3, dependencies: 2, unresolved: 0, withdrawn: 2, removed: 2 },
  })
  expect(await published()).toEqual([...OTHERS, 'lib 1.1-1', 'lib-data 1.0-1', 'web 2.0-1', 'zlib-new 1.0-1'])
  expect((await run()).job).toMatchObject({ added: 0, total: 0, withdrawn: 0 })
})

it('a mirror keeps a withdrawn package until nothing needs it', async () => {
  await upload('tool', '1.0-1', 'lib')
  await apt.offer([sample('web', '3.0-1', 'here')])
  const { job, lines } = await run()
  expect(job).toMatchObject({ status: 'done', added: 1, withdrawn: 4, removed: 2 })
  expect(lines).toContain('lib 1.1-1 (amd64) stays: tool 1.0-1 needs lib')
  expect(await published()).toEqual([...OTHERS, 'lib 1.1-1', 'lib-data 1.0-1', 'tool 1.0-1', 'web 3.0-1'])
  await call('DELETE', '/artifacts/tool')
  expect((await run()).job).toMatchObject({ withdrawn: 2, removed: 2 })
  // Packages that arrived another way never belong to the mirror.
  expect(await published()).toEqual([...OTHERS, 'web 3.0-1'])
})
