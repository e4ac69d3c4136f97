// A signed index and its signature: what clients get before, across and after a flip.
import { rmSync, utimesSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createRepository, RPM_MOUNTS, startListener, type Repository, type TestListener } from './listener.fixture.ts'
import { LONGEST_WAIT_MS } from './pair-reading.ts'

const REPODATA = '/repos/almalinux9/x86_64/repodata'
let repository: Repository
let server: TestListener
let now: number

beforeEach(async () => {
  repository = createRepository()
  now = Date.now()
  server = await startListener(repository.dir, { mounts: RPM_MOUNTS, clock: { now: () => new Date(now) } })
  publish('one')
})
afterEach(async () => {
  await server.close(1000)
  repository.remove()
})

function publish(name: string): void {
  const generation = `.generations/rpm/almalinux9/${name}`
  repository.write(`${generation}/repodata/repomd.xml`, `index ${name}`)
  repository.write(`${generation}/repodata/repomd.xml.asc`, `signature ${name}`)
  repository.link('rpm/almalinux9/x86_64', `../../${generation}`)
}

const asking = (agent: string) => {
  const headers = { 'user-agent': agent }
  return {
    look: async () => (await server.head(`${REPODATA}/repomd.xml`, headers)).status,
    index: async () => (await server.get(`${REPODATA}/repomd.xml`, headers)).text,
    signature: async () => (await server.get(`${REPODATA}/repomd.xml.asc`, headers)).text,
    key: async () => (await server.get(`${REPODATA}/repomd.xml.key`, headers)).status,
  }
}

describe('a client that asks for the index first, as dnf does', () => {
  test('gets the signature of the index it has, across a flip', async () => {
    const dnf = asking('dnf')
    expect(await dnf.index()).toBe('index one')
    publish('two')
    expect(await dnf.signature()).toBe('signature one')
  })

  test('sees the new index when it reads again', async () => {
    const dnf = asking('dnf')
    for (const name of ['two', 'three', 'four']) {
      await dnf.index()
      await dnf.signature()
      publish(name)
      expect([await dnf.index(), await dnf.signature()]).toEqual([`index ${name}`, `signature ${name}`])
    }
  })

  test('starts again when it requests the index twice', async () => {
    const dnf = asking('dnf')
    await dnf.index()
    publish('two')
    now += LONGEST_WAIT_MS
    expect([await dnf.index(), await dnf.signature()]).toEqual(['index two', 'signature two'])
  })
})

describe('a client that asks for the signature first, as zypper does', () => {
  test('gets the index of the signature it has, across a flip', async () => {
    const zypper = asking('zypper')
    expect(await zypper.look()).toBe(200)
    expect(await zypper.signature()).toBe('signature one')
    expect(await zypper.key()).toBe(404)
    publish('two')
    expect(await zypper.index()).toBe('index one')
  })

  test('sees the new pair when it reads again', async () => {
    const zypper = asking('zypper')
    for (const name of ['two', 'three', 'four']) {
      await zypper.signature()
      await zypper.key()
      await zypper.index()
      publish(name)
      expect(await zypper.signature()).toBe(`signature ${name}`)
      await zypper.key()
      expect(await zypper.index()).toBe(`index ${name}`)
    }
  })

  test('may request the index alone before, as zypper does to check for changes', async () => {
    const zypper = asking('zypper')
    await zypper.look()
    expect(await zypper.index()).toBe('index one')
    publish('two')
    expect(await zypper.signature()).toBe('signature two')
    await zypper.key()
    publish('three')
    expect(await zypper.index()).toBe('index two')
  })
})

test('another client gets the live generation', async () => {
  const [one, other] = [asking('one'), asking('other')]
  await one.index()
  publish('two')
  expect([await other.index(), await other.signature()]).toEqual(['index two', 'signature two'])
  expect(await one.signature()).toBe('signature one')
})

describe('clients that cannot be told apart', () => {
  test('each get a pair when no flip comes between their first requests', async () => {
    const [one, other] = [asking('same'), asking('same')]
    await one.index()
    await other.index()
    publish('two')
    expect([await one.signature(), await other.signature()]).toEqual(['signature one', 'signature one'])
  })

  test('read one generation at a time: the next waits for the signature of the one before', async () => {
    const [one, other] = [asking('same'), asking('same')]
    await one.index()
    publish('two')
    const next = other.index()
    expect(await one.signature()).toBe('signature one')
    expect([await next, await other.signature()]).toEqual(['index two', 'signature two'])
  })

  test('read one generation at a time in the order of zypper too', async () => {
    const [one, other] = [asking('same'), asking('same')]
    await one.look()
    await one.index()
    await one.signature()
    publish('two')
    const next = other.look().then(() => other.index())
    await one.key()
    expect(await one.index()).toBe('index one')
    expect(await next).toBe('index two')
    expect(await other.signature()).toBe('signature two')
    await other.key()
    publish('three')
    expect(await other.index()).toBe('index two')
  })

  test('are waited for when they test for changes without a HEAD, as zypper may', async () => {
    const [one, other] = [asking('same'), asking('same')]
    await one.index()
    await one.signature()
    publish('two')
    const next = other.index()
    await one.key()
    expect(await one.index()).toBe('index one')
    expect([await next, await other.signature()]).toEqual(['index two', 'signature two'])
  })

  test('wait together, and together see what was published last', async () => {
    const [one, second, third] = [asking('same'), asking('same'), asking('same')]
    await one.index()
    publish('two')
    const waiting = [second.index(), third.index()]
    publish('three')
    await one.signature()
    expect(await Promise.all(waiting)).toEqual(['index three', 'index three'])
    publish('four')
    expect([await second.signature(), await third.signature()]).toEqual(['signature three', 'signature three'])
  })

  test('do not wait longer than three seconds for a client that never asks for the signature', async () => {
    const [one, other] = [asking('same'), asking('same')]
    await one.index()
    publish('two')
    const started = Date.now()
    const clock = setInterval(() => (now += 50), 50)
    expect([await other.index(), await other.signature()]).toEqual(['index two', 'signature two'])
    clearInterval(clock)
    expect(Date.now() - started).toBeGreaterThanOrEqual(LONGEST_WAIT_MS - 5)
  })
})

test('clients behind one proxy are told apart by X-Forwarded-For', async () => {
  const get = async (file: string, address: string) =>
    (await server.get(`${REPODATA}/${file}`, { 'user-agent': 'dnf', 'x-forwarded-for': address })).text
  await get('repomd.xml', '10.0.0.1')
  publish('two')
  await get('repomd.xml', '10.0.0.2')
  expect(await get('repomd.xml.asc', '10.0.0.1')).toBe('signature one')
  expect(await get('repomd.xml.asc', '10.0.0.2')).toBe('signature two')
})

test('a client that compares by date alone gets a generation that was built earlier but flipped in later', async () => {
  const url = `${REPODATA}/repomd.xml`
  const first = String((await server.get(url)).headers['last-modified'])
  const generation = '.generations/rpm/almalinux9/late'
  const hourAgo = new Date(Date.now() - 3_600_000)
  utimesSync(repository.write(`${generation}/repodata/repomd.xml`, 'index late'), hourAgo, hourAgo)
  repository.link('rpm/almalinux9/x86_64', `../../${generation}`)
  expect(await server.get(url, { 'if-modified-since': first })).toMatchObject({ status: 200, text: 'index late' })
  // Once the second of the flip is over, everyone gets the same date.
  now += 3_000
  const { headers } = await server.head(url)
  expect((await server.get(url, { 'if-modified-since': String(headers['last-modified']) })).status).toBe(304)
})

test('a late client, or one whose generation is gone, gets the live generation', async () => {
  const dnf = asking('dnf')
  await dnf.index()
  publish('two')
  now += 15_001
  expect(await dnf.signature()).toBe('signature two')
  await dnf.index()
  publish('three')
  rmSync(`${repository.dir}/.generations/rpm/almalinux9/two`, { recursive: true })
  expect(await dnf.signature()).toBe('signature three')
})

test('a missing repository and a link out of the published places get 404', async () => {
  expect((await server.get('/repos/nowhere/x86_64/repodata/repomd.xml')).status).toBe(404)
  repository.write('secret/repodata/repomd.xml', 'secret')
  repository.link('rpm/rocky9/x86_64', '../../secret')
  expect((await server.get('/repos/rocky9/x86_64/repodata/repomd.xml')).status).toBe(404)
})
