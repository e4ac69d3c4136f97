// Two replicas with one proxy: what many clients ask for at once is fetched once, and a replica that freezes, a client that leaves and a
// full disk lose nothing.
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mountSmallDisk, type SmallDisk } from '../crash/mounts.ts'
import { startPostgres, type Postgres } from '../crash/postgres.ts'
import { waitFor } from '../crash/state.ts'
import { startNpmRegistry, type NpmRegistry } from '../fakes/npm-registry.ts'
import { startService, type Service } from '../service.ts'

/** The row of a holder that is silent counts for 15 s (proxies/once); the rest is for the fetch. */
const GOES_ON_MS = 22_000

let base: string
let disk: SmallDisk
let postgres: Postgres
const services: Service[] = []
let upstream: NpmRegistry
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'replicas-proxies-'))
  disk = await mountSmallDisk(join(base, 'disk'), 64, 20_000)
  postgres = await startPostgres()
  upstream = await startNpmRegistry()
  const shared = { reposDir: join(disk.directory, 'repos'), databaseUrl: await postgres.create('proxies') }
  for (let n = 0; n < 2; n++) services.push(await startService({ ...shared, env: { ALLOW_PRIVATE_SOURCES: 'true' } }))
  const body = { format: 'npm', name: 'world', kind: 'proxy', public: true, upstream: { url: upstream.url } }
  expect((await at(0).call('POST', '/registries', body)).status).toBe(201)
})
afterAll(async () => {
  for (const service of services) await service.kill()
  await upstream?.close()
  await postgres?.remove()
  await disk?.remove()
  if (base) await rm(base, { recursive: true, force: true })
})

const at = (index: number) => services[index] as Service
const listOf = (index: number, name: string) => fetch(`${at(index).api}/npm/world/${name}`)
const fileOf = (index: number, name: string) => fetch(`${at(index).api}/npm/world/${name}/-/${name}-1.0.0.tgz`)
const put = (name: string) => upstream.put(name, { '1.0.0': { time: '2020-01-01T00:00:00Z' } })
const askedFor = (name: string) => upstream.asked.filter((path) => path === name || path.startsWith(`${name}/`))
const digestOf = async (answer: Response) =>
  `${answer.status} ${createHash('sha1')
    .update(Buffer.from(await answer.arrayBuffer()))
    .digest('hex')}`
const recordsOf = async (name: string) =>
  (await postgres.query('proxies', `select id from packages where name = '${name}'`)).length

/** The upstream sends half of the file, and the rest once it is released. */
async function slowFile(name: string): Promise<{ begun: Promise<void>; release: () => void }> {
  const path = `${name}/-/${name}-1.0.0.tgz`
  const whole = Buffer.from(await (await fetch(`${upstream.url}/${path}`)).arrayBuffer())
  upstream.asked.length = 0
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  const begun = new Promise<void>((resolve) => {
    let isFirst = true
    upstream.lie(path, (_, response) => {
      response.writeHead(200, { 'content-length': whole.length })
      if (!isFirst) return void response.end(whole)
      isFirst = false
      response.write(whole.subarray(0, whole.length / 2), () => resolve())
      void released.then(() => response.end(whole.subarray(whole.length / 2)))
    })
  })
  return { begun, release }
}

test('200 clients of both ask for a name and its file that nobody had: the upstream is asked once for each', async () => {
  await put('herd')
  let release = () => {}
  upstream.holdUntil(new Promise((resolve) => (release = resolve)))
  const lists = Promise.all(Array.from({ length: 200 }, (_, n) => listOf(n % 2, 'herd').then(digestOf)))
  await waitFor('the first request', async () => askedFor('herd').length > 0)
  release()
  expect(new Set((await lists).map((said) => said.slice(0, 3)))).toEqual(new Set(['200']))
  const files = await Promise.all(Array.from({ length: 200 }, (_, n) => fileOf(n % 2, 'herd').then(digestOf)))
  expect(new Set(files).size).toBe(1)
  expect(files[0]).toMatch(/^200 /)
  expect(askedFor('herd')).toEqual(['herd', 'herd/-/herd-1.0.0.tgz'])
})

test('a replica that freezes in the middle of a fetch holds up the clients of the other for a bounded time, and nothing is lost', async () => {
  await put('frozen')
  expect((await listOf(0, 'frozen')).status).toBe(200)
  const { begun, release } = await slowFile('frozen')
  const first = fileOf(0, 'frozen').then(digestOf)
  await begun
  at(0).process.kill('SIGSTOP')
  try {
    const from = performance.now()
    expect(await digestOf(await fileOf(1, 'frozen'))).toMatch(/^200 /)
    expect(performance.now() - from).toBeLessThan(GOES_ON_MS)
  } finally {
    at(0).process.kill('SIGCONT')
    release()
  }
  // What it had half of is thrown away: the record is there, and its own clients get the same.
  expect((await first).slice(0, 3)).toBe('200')
  expect(await recordsOf('frozen')).toBe(1)
  expect(await digestOf(await fileOf(0, 'frozen'))).toBe(await digestOf(await fileOf(1, 'frozen')))
})

test('a client that hangs up in the middle of a fetch takes it from nobody', async () => {
  await put('left')
  expect((await listOf(0, 'left')).status).toBe(200)
  const { begun, release } = await slowFile('left')
  const leaving = request(`${at(0).api}/npm/world/left/-/left-1.0.0.tgz`).on('error', () => {})
  leaving.end()
  await begun
  const waiting = [fileOf(0, 'left').then(digestOf), fileOf(1, 'left').then(digestOf)]
  leaving.destroy()
  release()
  const said = await Promise.all(waiting)
  expect(new Set(said).size).toBe(1)
  expect(said[0]).toMatch(/^200 /)
  expect(askedFor('left')).toEqual(['left/-/left-1.0.0.tgz'])
})

test.each<[string, (name: string) => Promise<Response>]>([
  ['a list', (name) => listOf(0, name)],
  ['a file', (name) => fileOf(0, name)],
])('a disk that is full while %s arrives is told with its code, and nothing remains of it', async (what, ask) => {
  const name = `full-${what.slice(2)}`
  await put(name)
  if (what === 'a file') expect((await listOf(0, name)).status).toBe(200)
  const incoming = async () =>
    (await readdir(join(disk.directory, 'repos/staging/incoming'), { recursive: true, withFileTypes: true })).filter(
      (entry) => entry.isFile(),
    ).length
  await disk.leave(0, 'pages')
  try {
    const refused = await ask(name)
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([500, 'storage_full'])
    expect(await incoming()).toBe(0)
    expect(await recordsOf(name)).toBe(0)
  } finally {
    await disk.free()
  }
  // At once: the upstream was not at fault.
  expect((await ask(name)).status).toBe(200)
})
