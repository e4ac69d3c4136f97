// Two services on one PostgreSQL, one on a machine whose clock is two minutes ahead: it harms neither the other nor clients.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sql } from 'kysely'
import { openDatabase, type Database } from '../../src/store/db.ts'
import { createAptRoot, type AptRoot } from '../clients/apt-root.ts'
import { createInstallations, type Installation, type Installations } from '../crash/installations.ts'
import { faketime } from '../faults/faults.ts'
import { need } from '../need.ts'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'

let installations: Installations
let installation: Installation
let database: Database
let apt: AptRoot
let services: Service[] = []
let right: Service
let fast: Service

beforeAll(async () => {
  need('apt', 'dpkg-dev', 'fakeroot', 'faketime')
  installations = await createInstallations('postgres')
  installation = await installations.copy()
  database = await openDatabase(installation.databaseUrl)
  right = await startService(installation)
  // With a fake monotonic clock, timers of threads would be wrong; on a real machine with a wrong clock they are right.
  const wrong = { LD_PRELOAD: faketime(), FAKETIME: '+120s', DONT_FAKE_MONOTONIC: '1' }
  fast = await startService({ ...installation, env: { ...installation.env, ...wrong } })
  services = [right, fast]
  const key = await readFile(join(installation.reposDir, 'keys', 'gpg.key'), 'utf8')
  apt = await createAptRoot({ url: `${fast.apt}/repos`, suite: 'jammy', key })
})
afterAll(async () => {
  for (const service of services) await service.kill()
  await apt?.remove()
  await database?.close()
  await installation?.remove()
  await installations?.remove()
})

const checks = async (service: Service) => (await service.call('GET', '/health')).body.checks
const isLeader = async (service: Service) => (await checks(service)).info.ha.is_leader as boolean
const databaseNow = async () =>
  (await sql<{ at: Date }>`select clock_timestamp() as at`.execute(database.db)).rows[0]!.at.getTime()

it('the lease, staging and tasks of the replica with the right clock stay its own', async () => {
  const lease = () => database.db.selectFrom('leases').selectAll().executeTakeFirstOrThrow()
  const before = await lease()
  // The other service checks the lease every three seconds; it is renewed as often.
  const beats = new Set<number>()
  await expect.poll(async () => beats.add((await lease()).expires_at.getTime()).size).toBeGreaterThan(3)
  expect((await lease()).holder).toBe(before.holder)
  expect([await isLeader(right), await isLeader(fast)]).toEqual([true, false])
  const rows = await database.db.selectFrom('instances').select('heartbeat_at').execute()
  expect(rows).toHaveLength(2)
  for (const { heartbeat_at } of rows) expect(heartbeat_at.getTime()).toBeLessThanOrEqual(await databaseNow())
})

it('health of the fast one says by how much it is off, and so does its log', async () => {
  const { clock } = (await checks(fast)).non_critical
  expect(clock).toMatchObject({ ok: false, error: "the clock of this machine is 120 s ahead of the database's" })
  expect(Math.abs(clock.offset_seconds - 120)).toBeLessThan(2)
  expect((await checks(right)).non_critical.clock.ok).toBe(true)
  expect(fast.log).toContainEqual(expect.objectContaining({ msg: expect.stringContaining('it does not lead') }))
  const metrics = await (await fetch(`${fast.api}/metrics`)).text()
  expect(Number(/^svc_clock_offset_seconds (\S+)$/m.exec(metrics)?.[1])).toBeGreaterThan(118)
})

it('an upload to the fast one is dated by the database, and apt takes it', async () => {
  const { status, body } = await fast.upload(await buildDeb({ name: 'dated', version: '1.0' }), 'a.deb', {
    distribution: 'jammy',
  })
  expect([status, body.status]).toEqual([201, 'published'])
  const release = await (await fetch(`${right.apt}/repos/dists/jammy/InRelease`)).text()
  const date = Date.parse(/^Date: (.+)$/m.exec(release)![1]!)
  // A burst of publishes stays at most 4 s ahead; this is one.
  expect(date).toBeLessThanOrEqual(await databaseNow())
  expect(await apt.update()).toMatchObject({ code: 0 })
  expect(await apt.versions('dated')).toEqual(['1.0'])
})
