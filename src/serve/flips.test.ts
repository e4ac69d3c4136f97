// What a listener serves before, during and after the rename of a publish.
import { rmSync, utimesSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  APT_MOUNTS,
  createRepository,
  RPM_MOUNTS,
  startListener,
  type Repository,
  type TestListener,
} from './listener.fixture.ts'
import { createPublishedTree } from './published-tree.ts'

const INRELEASE = '/repos/dists/jammy/InRelease'
const PACKAGES = '/repos/dists/jammy/main/binary-amd64/Packages.gz'

let repository: Repository
let server: TestListener

beforeEach(async () => {
  repository = createRepository()
  server = await startListener(repository.dir)
})

afterEach(async () => {
  await server.close(1000)
  repository.remove()
})

test('the very next request after the rename sees the new generation', async () => {
  for (let n = 0; n < 200; n++) {
    repository.publish('jammy', { InRelease: `release ${n}` })
    expect((await server.get(INRELEASE)).text).toBe(`release ${n}`)
    expect((await server.get(INRELEASE)).text).toBe(`release ${n}`)
  }
})

test('the very next request sees a return to an earlier generation', async () => {
  const old = repository.publish('jammy', { InRelease: 'old' })
  await server.get(INRELEASE)
  repository.publish('jammy', { InRelease: 'new' })
  const { etag = '' } = (await server.get(INRELEASE)).headers
  repository.link('dists/jammy', `../${old}`)
  expect(await server.get(INRELEASE, { 'If-None-Match': etag })).toMatchObject({ status: 200, text: 'old' })
})

test('an entity tag identifies content of equal size and date within one second', async () => {
  const tags = new Map<string, string>()
  const date = new Date('2026-01-01T00:00:00Z')
  for (let n = 100; n < 150; n++) {
    const generation = repository.publish('jammy', { InRelease: `release ${n}` })
    utimesSync(join(repository.dir, generation, 'InRelease'), date, date)
    const { text, headers } = await server.get(INRELEASE)
    expect(tags.get(headers.etag ?? '') ?? text).toBe(text)
    tags.set(headers.etag ?? '', text)
  }
  expect(tags.size).toBe(50)
})

describe('a client that compares by date alone, as apt does', () => {
  test('never keeps an index that was replaced, however fast', async () => {
    let since = ''
    for (let n = 0; n < 100; n++) {
      repository.publish('jammy', { InRelease: `release ${n}` })
      const answer = await server.get(INRELEASE, since ? { 'If-Modified-Since': since } : {})
      expect(answer.text).toBe(`release ${n}`)
      since = String(answer.headers['last-modified'])
    }
  })

  test('gets a generation that was built earlier but flipped in later', async () => {
    // r-late is built first and flipped last: its files are older than those of the generation between them.
    const base = '.generations/deb/jammy'
    const hourAgo = new Date(Date.now() - 3_600_000)
    utimesSync(repository.write(`${base}/late/InRelease`, 'late'), hourAgo, hourAgo)
    utimesSync(repository.write(`${base}/first/InRelease`, 'first'), hourAgo, hourAgo)
    repository.link('dists/jammy', `../${base}/first`)
    const { headers } = await server.get(INRELEASE)
    repository.link('dists/jammy', `../${base}/late`)
    const answer = await server.get(INRELEASE, { 'If-Modified-Since': String(headers['last-modified']) })
    expect(answer).toMatchObject({ status: 200, text: 'late' })
  })

  test('gets 304 once the second of the flip is over', async () => {
    repository.publish('jammy', { InRelease: 'release' })
    const later = await startListener(repository.dir, { clock: { now: () => new Date(Date.now() + 5000) } })
    const { headers } = await later.get(INRELEASE)
    expect((await later.get(INRELEASE, { 'If-Modified-Since': String(headers['last-modified']) })).status).toBe(304)
    await later.close(1000)
  })

  test('resumes a package across a flip', async () => {
    const url = '/repos/dists/jammy/pool/a_1_amd64.deb'
    repository.publish('jammy', { InRelease: 'one' })
    const hourAgo = new Date(Date.now() - 3_600_000)
    utimesSync(repository.write('.generations/deb/jammy/pool/a_1_amd64.deb', 'package'), hourAgo, hourAgo)
    const { headers } = await server.get(url)
    repository.publish('jammy', { InRelease: 'two' })
    const answer = await server.get(url, { Range: 'bytes=3-', 'If-Range': String(headers['last-modified']) })
    expect(answer).toMatchObject({ status: 206, text: 'kage', headers: { etag: headers.etag } })
  })
})

describe('an apk index, whose link leads through the one that a publish replaces', () => {
  const url = '/apk/alpine3.20/main/x86_64/APKINDEX.tar.gz'
  const base = '.generations/apk/alpine3.20'
  const write = (generation: string) => repository.write(`${base}/${generation}/x86_64/APKINDEX.tar.gz`, generation)
  beforeEach(() =>
    repository.link('apk/alpine3.20/main/x86_64/APKINDEX.tar.gz', `../../../../${base}/live/x86_64/APKINDEX.tar.gz`),
  )

  test('is that of the new generation for the very next request', async () => {
    for (let n = 0; n < 20; n++) {
      write(`r${n}`)
      repository.link(`${base}/live`, `r${n}`)
      expect((await server.get(url)).text).toBe(`r${n}`)
    }
  })

  test('is dated by the link that is replaced', async () => {
    write('r1')
    repository.link(`${base}/live`, 'r1')
    const mount = APT_MOUNTS.find(({ prefix }) => prefix === '/apk/')!
    const tree = createPublishedTree(repository.dir, () => {})
    expect(await tree.flipLink({ mount, path: url.slice(1) })).toBe(join(repository.dir, base, 'live'))
  })
})

test('a plain Packages follows its compressed form across a flip', async () => {
  for (let n = 0; n < 20; n++) {
    repository.publish('jammy', { 'main/binary-amd64/Packages.gz': gzipSync(`Package: p${n}\n`) })
    expect((await server.get('/repos/dists/jammy/main/binary-amd64/Packages')).text).toBe(`Package: p${n}\n`)
  }
})

test('a removed file is missing for the next request, even when it was in memory', async () => {
  const generation = repository.publish('jammy', { InRelease: 'release' })
  expect((await server.get(INRELEASE)).status).toBe(200)
  rmSync(join(repository.dir, generation, 'InRelease'))
  expect((await server.get(INRELEASE)).status).toBe(404)
})

// Many clients read large and small index files during hundreds of flips. Each answer must be a whole file of one generation,
// tags and ranges must belong to its bytes, and nobody may get an older state after a newer one.
test.each([
  { where: 'memory', memory: { totalBytes: 64 << 20, fileBytes: 4 << 20 } },
  { where: 'a memory too small for two files', memory: { totalBytes: 420_000, fileBytes: 4 << 20 } },
  { where: 'the disk', memory: { totalBytes: 0, fileBytes: 100 } },
])('hammered during hundreds of flips, from $where, no file is ever torn, mixed or old', async ({ memory }) => {
  const reader = await startListener(repository.dir, { memory })
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const FLIPS = 120
  let generation = 0
  const kept: string[] = []
  const publish = () => {
    generation++
    const line = `generation ${String(generation).padStart(6, '0')}\n`
    const made = repository.publish('jammy', {
      InRelease: line,
      'main/binary-amd64/Packages.gz': line.repeat(20_000 + (generation % 3)),
    })
    kept.push(made)
    // Like `collect`: removes only generations that nobody can still be looking up.
    if (kept.length > 6) rmSync(join(repository.dir, kept.shift() ?? ''), { recursive: true })
  }
  publish()

  const generationOf = (body: Buffer): number => Number(/generation (\d{6})\n/.exec(body.subarray(-18).toString())?.[1])
  const tags = new Map<string, string>()
  const run = { goesOn: true }
  let answers = 0

  const read = async (path: string, range: string | null): Promise<void> => {
    while (run.goesOn) {
      const before = generation
      const { status, headers, body } = await ask(reader.port, agent, path, range)
      const after = generation
      answers++
      expect(status).toBe(range ? 206 : 200)
      expect(body.length).toBe(Number(headers['content-length']))
      const seen = generationOf(body)
      expect(seen).toBeGreaterThanOrEqual(before)
      expect(seen).toBeLessThanOrEqual(after)
      const line = `generation ${String(seen).padStart(6, '0')}\n`
      const wholeSize = path === INRELEASE ? line.length : line.length * (20_000 + (seen % 3))
      if (range) expect(headers['content-range']).toBe(`bytes ${wholeSize - body.length}-${wholeSize - 1}/${wholeSize}`)
      else expect(body.equals(Buffer.from(line.repeat(wholeSize / line.length)))).toBe(true)
      const identity = `${path} ${seen}`
      expect(tags.get(headers.etag ?? '') ?? identity).toBe(identity)
      tags.set(headers.etag ?? '', identity)
    }
  }

  const readers = Promise.all([
    ...Array.from({ length: 6 }, () => read(INRELEASE, null)),
    ...Array.from({ length: 6 }, () => read(PACKAGES, null)),
    ...Array.from({ length: 4 }, () => read(PACKAGES, 'bytes=-180')),
  ])
  const flips = (async () => {
    while (generation < FLIPS) {
      const wanted = answers + 3
      publish()
      while (answers < wanted && run.goesOn) await turn()
    }
    run.goesOn = false
  })()
  try {
    await Promise.all([readers, flips])
  } finally {
    run.goesOn = false
    agent.destroy()
    await reader.close(1000)
  }
  expect(answers).toBeGreaterThan(FLIPS * 2)
  expect(reader.logged.filter((line) => line.includes('error'))).toEqual([])
})

interface Read {
  status: number
  headers: Record<string, string | string[] | undefined> & { etag?: string }
  body: Buffer
}

function ask(port: number, agent: Agent, path: string, range: string | null): Promise<Read> {
  return new Promise((resolve, reject) => {
    const headers = range ? { Range: range } : {}
    const request = httpRequest({ port, host: '127.0.0.1', path, headers, agent }, (response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(pieces) }),
      )
    })
    request.on('error', reject)
    request.end()
  })
}

test.each([
  ['primary', (digest: string) => `${digest}-primary.xml.gz`],
  ['updateinfo', (digest: string) => digest],
])('the %s of the previous rpm index is still served by its digest', async (kind, shared) => {
  const rpm = await startListener(repository.dir, { mounts: RPM_MOUNTS })
  const digest = 'ab'.repeat(32)
  const base = '.generations/rpm/almalinux9'
  repository.write(`${base}/by-hash/SHA256/${shared(digest)}`, 'old')
  repository.write(`${base}/r2/repodata/repomd.xml`, 'new')
  repository.link(`${base}/r2/repodata/by-hash`, '../../by-hash')
  repository.link('rpm/almalinux9/x86_64', `../../${base}/r2`)
  const repodata = '/repos/almalinux9/x86_64/repodata'
  expect(await rpm.get(`${repodata}/${digest}-${kind}.xml.gz`)).toMatchObject({ status: 200, text: 'old' })
  expect((await rpm.get(`${repodata}/${'cd'.repeat(32)}-${kind}.xml.gz`)).status).toBe(404)
  await rpm.close(1000)
})
