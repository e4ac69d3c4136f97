// A replica that freezes inside a transaction, and a database server that freezes under a replica.
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { createForwarder, type Forwarder } from '../crash/forwarder.ts'
import { createInstallations, type Installation, type Installations } from '../crash/installations.ts'
import type { Postgres } from '../crash/postgres.ts'
import { waitFor } from '../crash/state.ts'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'

/** The database allows a silent transaction 10 s; the rest of the 15 s is for an upload. */
const GOES_ON_MS = 15_000
/** 18 s until its connections are cut (store/frozen), and 10 s for another one, for the audit entry of the failure. */
const NOTICED_MS = 30_000

let installations: Installations
let installation: Installation
let forwarder: Forwarder
/** the first reaches the database through the forwarder */
let services: Service[]
beforeAll(async () => void (installations = await createInstallations('postgres')))
afterAll(() => installations?.remove())
beforeEach(async () => {
  installation = await installations.copy()
  const url = new URL(installation.databaseUrl)
  forwarder = await createForwarder({ host: url.hostname, port: Number(url.port) })
  url.port = String(forwarder.port)
  services = []
  for (const databaseUrl of [url.href, installation.databaseUrl])
    services.push(await startService({ ...installation, databaseUrl }))
})
afterEach(async () => {
  for (const service of services) await service.kill()
  await forwarder.stop()
  await installation.remove()
})

const upload = async (service: Service, name: string) =>
  service.upload(await buildDeb({ name, version: '1.0' }), 'a.deb', { distribution: 'jammy' })
const at = (index: number) => services[index] as Service

it.each([
  // Inside the transaction of the record: the row of the distribution is locked.
  ['while it stores a record', /insert into "packages"/],
  // Inside the flip: it has renamed the link but not committed.
  ['before it commits a publish', /commit/],
])('a replica that freezes %s holds up the uploads of the other for 15 s at most', async (_, statement) => {
  const frozen = forwarder.freezeAt(statement)
  const first = upload(at(0), 'frozen').catch((error: unknown) => ({ error }))
  await frozen
  const began = performance.now()
  const { status, body } = await upload(at(1), 'going-on')
  expect([status, body.status]).toEqual([201, 'published'])
  expect(performance.now() - began).toBeLessThan(GOES_ON_MS)
  forwarder.thaw()
  const late = await first
  expect(late).toMatchObject({ status: expect.toBeOneOf([201, 503]) })
  // It works again, whatever the result of that upload.
  const again = await upload(at(0), 'frozen')
  expect([201, 409]).toContain(again.status)
})

it('a database server that freezes is told as 503 within 30 s, and all is well when it goes on', async () => {
  const postgres = installations.postgres as Postgres
  postgres.freeze()
  try {
    const began = performance.now()
    const answers = Promise.all([
      ...Array.from({ length: 15 }, (_, n) => upload(at(1), `frozen-${n}`)),
      at(1).call('GET', '/artifacts/'),
    ])
    let slowest = 0
    let answered = false
    void answers.finally(() => (answered = true))
    while (!answered) {
      const asked = performance.now()
      // Like a probe: without a credential, which would have to be looked up.
      expect((await fetch(`${at(1).api}/health/live`)).status).toBe(200)
      slowest = Math.max(slowest, performance.now() - asked)
    }
    const codes = (await answers).map(({ status, body }) => `${status} ${body.code}`)
    expect(new Set(codes)).toEqual(new Set(['503 database_unavailable']))
    expect(performance.now() - began).toBeLessThan(NOTICED_MS)
    expect(slowest).toBeLessThan(1_000)
  } finally {
    postgres.thaw()
  }
  for (const service of services)
    await waitFor('readiness', async () => (await service.call('GET', '/health/ready')).status === 200)
  const { status, body } = await upload(at(1), 'after')
  expect([status, body.status]).toEqual([201, 'published'])
  // Nothing from before holds a lock or a connection.
  await waitFor('the end of the old sessions', async () => {
    const [row] = await postgres.query<{ n: number }>(
      'postgres',
      `select count(*)::int as n from pg_stat_activity where state like 'idle in transaction%'`,
    )
    return row?.n === 0
  })
})
