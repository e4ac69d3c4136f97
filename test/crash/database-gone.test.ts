// The database server goes away under load and comes back: clients go on reading, nothing has to be started anew.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'
import { makeHouses, type House, type Houses } from './houses.ts'
import { look, readHttp } from './look.ts'
import type { Postgres } from './postgres.ts'
import { examine, waitFor } from './state.ts'

const GONE_MS = 10_000

let houses: Houses
let house: House
let service: Service
beforeAll(async () => {
  houses = await makeHouses('postgres')
  house = await houses.copy()
  // A sequence copied with its database is logged anew from the next checkpoint on; before it, a crash would set it back.
  await houses.postgres?.query('postgres', 'checkpoint')
  service = await startService(house)
})
afterAll(async () => {
  await service?.kill()
  await houses?.remove()
})

it('while PostgreSQL is away reads go on and writes are refused in words; afterwards all goes on as before', async () => {
  const postgres = houses.postgres as Postgres
  const publicKey = await readFile(join(house.reposDir, 'keys', 'gpg.key'), 'utf8')
  const offered = async () => [...(await look(readHttp(service), 'jammy', publicKey, { still: false })).packages.keys()]
  const upload = async (name: string) =>
    service.upload(await buildDeb({ name, version: '1.0' }), 'a.deb', { distribution: 'jammy' })
  expect((await upload('before')).status).toBe(201)

  // Uploads are under way at every stage when it goes.
  const promised: string[] = []
  let away = false
  const storm = [1, 2, 3].map(async (uploader) => {
    for (let n = 0; !away; n++) {
      const name = `storm-${uploader}-${n}`
      const { status, body } = await upload(name)
      if (status === 201) promised.push(name)
      else expectWords({ status, body })
    }
  })
  await waitFor('an upload', async () => promised.length > 3)
  await postgres.stop()
  const goneAt = Date.now()
  away = true
  await Promise.all(storm)

  expectWords(await upload('during'))
  expectWords(await service.call('GET', '/artifacts/'))
  expectWords(await service.call('DELETE', '/artifacts/before'))
  const ready = await service.call('GET', '/health/ready')
  expect([ready.status, ready.body.ready, ready.body.failing]).toEqual([503, false, ['auth_db', 'manifest_db']])
  expect((await service.call('GET', '/health/live')).status).toBe(200)
  while (Date.now() - goneAt < GONE_MS) {
    expect(await offered()).toContain('before 1.0 amd64')
    await new Promise((resolve) => setTimeout(resolve, 500))
  }

  await postgres.start()
  await waitFor('readiness', async () => (await service.call('GET', '/health/ready')).status === 200)
  const { status, body: said } = await upload('after')
  expect([status, said.code, said.detail]).toEqual([201, undefined, undefined])
  expect((await service.call('DELETE', '/artifacts/before')).status).toBe(200)
  const now = await offered()
  for (const name of [...promised, 'after']) expect(now).toContain(`${name} 1.0 amd64`)
  expect(now).not.toContain('before 1.0 amd64')
  expect(service.process.exitCode).toBeNull()
  // It leads again, or still.
  const { body } = await waitFor('leadership', async () => {
    const report = await service.call('GET', '/health')
    return report.body.checks.info.ha.is_leader ? report : null
  })
  expect(body.checks.critical.auth_db.ok).toBe(true)
  expect(await service.stop()).toBe(0)

  // What the gap left half done is gone with the next start.
  service = await startService(house)
  expect(await service.stop()).toBe(0)
  expect((await examine({ ...house, collected: true })).faults).toEqual([])
})

function expectWords({ status, body }: { status: number; body: any }): void {
  expect(status).toBeGreaterThanOrEqual(500)
  expect([typeof body.code, typeof body.detail]).toEqual(['string', 'string'])
}
