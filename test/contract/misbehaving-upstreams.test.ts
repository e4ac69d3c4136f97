// A sync, a single import and a mirror run against each upstream of the table: each ends with an error code, or succeeds.
import * as tls from 'node:tls'
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHttpClient, type HttpClient } from '../../src/kernel/http-client.ts'
import { aptFiles, sha256 } from '../../src/upstream/fixture.ts'
import {
  CERTIFICATE,
  MISBEHAVIOURS,
  startMisbehaving,
  type MisbehavingUpstream,
} from '../fakes/misbehaving-upstream.ts'
import { buildDeb, controlText } from '../samples/deb.ts'
import { startGate, type Gate } from './harness.ts'
import { eventsOf } from './http.ts'

/** Limits for files that never arrive. Files that must arrive on a busy machine keep the service's: 30 s, at least a minute. */
const SHORT = { idleMs: 300, timeoutMs: 1_000 }
const INDEX = /Packages/
const PACKAGES = /\.deb$/

/** In Node since 22.19; the types do not have it yet. */
const { getCACertificates, setDefaultCACertificates } = tls as unknown as {
  getCACertificates(): string[]
  setDefaultCACertificates(pems: string[]): void
}

let gate: Gate
let http: HttpClient
const authorities = getCACertificates()
const upstreams: MisbehavingUpstream[] = []
const uncaught: unknown[] = []
const note = (error: unknown) => uncaught.push(error)

beforeAll(async () => {
  process.on('uncaughtExceptionMonitor', note)
  process.on('unhandledRejection', note)
  setDefaultCACertificates([...authorities, CERTIFICATE])
  http = createHttpClient({ allowPrivate: true })
  gate = await startGate({
    people: false,
    overrides: {
      upstreams: {
        http: {
          open: (url, limits, headers) => http.open(url, isLost(url) ? { ...limits, ...SHORT } : limits, headers),
        },
        wait: async () => {},
      },
    },
  })
  root = await gate.login('root-admin')
})
afterAll(async () => {
  await gate?.close()
  await http.close()
  await Promise.all(upstreams.map((upstream) => upstream.close()))
  setDefaultCACertificates(authorities)
  process.off('uncaughtExceptionMonitor', note)
  process.off('unhandledRejection', note)
})

/** Whether an upstream misbehaves now, so that a file cannot be fetched. */
const isLost = (url: string) =>
  upstreams.some((one, at) => url.startsWith(one.url) && one.target && TABLE[at]!.ends !== 'done')

let root: string
const call = (method: string, path: string, body?: unknown) =>
  gate.call<Record<string, any>>(method, path, { as: root, ...(body === undefined ? {} : { body }) })

/** An apt repository with two packages, and its source. */
async function start(at: number): Promise<{ upstream: MisbehavingUpstream; id: number; names: [string, string] }> {
  const upstream = await startMisbehaving(MISBEHAVIOURS[at]!)
  upstreams[at] = upstream
  const names = [`one-${at}`, `two-${at}`] as [string, string]
  const stanzas: string[] = []
  for (const name of names) {
    // More than the buffers of a transfer hold, so that its reader has to wait.
    const file = Buffer.from(await buildDeb({ name, files: { [`opt/${name}`]: randomBytes(150_000) } }))
    upstream.files[`${name}.deb`] = file
    stanzas.push(`${controlText({ name })}Filename: ${name}.deb\nSize: ${file.length}\nSHA256: ${sha256(file)}\n`)
  }
  const { release, files } = aptFiles({ packages: stanzas.join('\n'), release: { Date: new Date().toUTCString() } })
  Object.assign(upstream.files, files, { 'dists/test/Release': release })
  const { body } = await call('POST', '/import/sources', {
    ...{ name: `peer-${at}`, type: 'apt', url: upstream.url, distribution: 'test', components: ['main'] },
    allow_unsigned: true,
  })
  return { upstream, id: body['id'] as number, names }
}

const lastOf = (text: string) => JSON.parse(eventsOf(text).at(-1)?.data ?? '{}') as Record<string, unknown>

async function sync(id: number): Promise<string> {
  const { text } = await call('POST', `/import/sources/${id}/sync`)
  const last = lastOf(text)
  return last['status'] === 'error' ? String(last['code']) : String(last['status'])
}

async function importOne(id: number, name: string): Promise<string> {
  const { status, body } = await call('POST', '/import/packages', {
    ...{ source_id: id, package: name, version: '1.0-1', arch: 'amd64', distribution: 'jammy' },
  })
  return status === 201 ? 'done' : String(body['code'])
}

async function mirror(id: number, name: string): Promise<string> {
  await call('PUT', `/import/mirror/sources/${id}`, { distribution: 'jammy', names: [name] })
  const { body } = await call('POST', `/import/mirror/start/${id}`)
  const { text } = await call('GET', `/import/mirror/jobs/${body['job_id']}/stream`)
  // No line may contain the code for a bug of ours.
  expect(text).not.toContain('internal_error')
  return lastOf(text)['status'] === 'done' ? 'done' : 'failed'
}

const TABLE = MISBEHAVIOURS.map(({ name, ends, syncEnds = ends, mayFail }, at) => ({
  name,
  ends,
  syncEnds,
  mayFail,
  at,
}))

describe.concurrent('a sync, an import and a mirror run end in order with an upstream that', () => {
  test.each(TABLE)('$name', async ({ ends, syncEnds, mayFail, at }) => {
    const { upstream, id, names } = await start(at)
    upstream.target = INDEX
    const synced = await sync(id)
    upstream.target = null
    const after = await sync(id)
    upstream.target = PACKAGES
    const [imported, mirrored] = await Promise.all([importOne(id, names[0]), mirror(id, names[1])])
    const or = (expected: string, failed: string) => (mayFail ? expect.toBeOneOf([expected, failed]) : expected)
    expect({ synced, after, imported, mirrored }).toEqual({
      ...{ synced: or(syncEnds, 'upstream_error'), after: 'done', imported: or(ends, 'upstream_error') },
      mirrored: or(ends === 'done' ? 'done' : 'failed', 'failed'),
    })
  })
})

test('nothing was uncaught meanwhile, and no connection stays open', async () => {
  expect(uncaught).toEqual([])
  await expect.poll(() => upstreams.reduce((sum, upstream) => sum + upstream.open, 0)).toBe(0)
})
