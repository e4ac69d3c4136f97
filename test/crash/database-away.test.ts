// No fault of the database makes the repositories unavailable: their processes read files, and need no API.
import { get } from 'node:http'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../ports.ts'
import { startService, type Service } from '../service.ts'
import { childrenOf } from './children.ts'
import { createForwarder, type Forwarder } from './forwarder.ts'
import { createInstallations, type Installation, type Installations } from './installations.ts'
import type { Postgres } from './postgres.ts'
import { waitFor } from './state.ts'

let installations: Installations
let installation: Installation
let forwarder: Forwarder
let service: Service
let env: Record<string, string>
let database: string

beforeAll(async () => {
  installations = await createInstallations('postgres')
  installation = await installations.copy()
  const url = new URL(installation.databaseUrl)
  database = url.pathname.slice(1)
  forwarder = await createForwarder({ host: url.hostname, port: Number(url.port) })
  url.port = String(forwarder.port)
  installation.databaseUrl = url.href
  const port = async () => String(await freePort())
  env = {
    ...installation.env,
    ...{ SERVE_PROCESSES: '2', BACKEND_PORT: await port(), FRONTEND_PORT: await port() },
    ...{ APT_PORT: await port(), RPM_REPO_PORT: await port() },
  }
  service = await startService({ ...installation, env })
})
afterAll(async () => {
  await service?.kill()
  await forwarder?.stop()
  await installations?.remove()
})

/** Uses a new connection, as a package client's first request does. @returns the status, or the reason why there is none */
function inRelease(): Promise<number | string> {
  return new Promise((resolve) => {
    get(`http://127.0.0.1:${env['APT_PORT']}/repos/dists/jammy/InRelease`, { agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
      answer.on('error', ({ message }) => resolve(message))
    }).on('error', ({ message }) => resolve(message))
  })
}

/** Fetches InRelease until `meanwhile` is over. @returns all answers other than 200 */
async function failuresDuring(meanwhile: Promise<unknown>): Promise<unknown[]> {
  let isOver = false
  const over = meanwhile.finally(() => (isOver = true))
  const failures: unknown[] = []
  for (let isLast = false; !isLast;) {
    isLast = isOver
    const answer = await inRelease()
    if (answer !== 200) failures.push(answer)
  }
  await over
  return failures
}

const waits = () => service.log.map((entry) => (entry as { waits?: number }).waits ?? 0)
const tried = (times: number) => waitFor(`${times} tries`, async () => waits().some((count) => count >= times))
const ready = () =>
  waitFor('readiness', async () => {
    const answer = await fetch(`http://127.0.0.1:${env['BACKEND_PORT']}/health/ready`).catch(() => null)
    return answer?.status === 200
  })
const killApi = async () => {
  for (const pid of await childrenOf(service.process, 'api')) process.kill(pid, 'SIGKILL')
}
const sentences = () => service.log.map((entry) => (typeof entry === 'string' ? entry : String(entry['msg'])))

it('an API that ends while the database is away is tried again without end, and clients notice nothing', async () => {
  await forwarder.stop()
  await killApi()
  expect(await failuresDuring(tried(4))).toEqual([])
  expect(sentences()).toContainEqual(
    expect.stringMatching(/^cannot start: no connection to the database: .*ECONNREFUSED/),
  )
  await forwarder.start()
  expect(await failuresDuring(ready())).toEqual([])
})

it('a service that starts while the database is away serves the repositories, and the API when the database is there', async () => {
  expect(await service.stop()).toBe(0)
  await forwarder.stop()
  service = await startService({ ...installation, env, raw: true })
  await waitFor('the repositories', async () => (await inRelease()) === 200)
  expect(await failuresDuring(tried(1))).toEqual([])
  await forwarder.start()
  expect(await failuresDuring(ready())).toEqual([])
})

it('a database that a newer build changed for good keeps only the API away, and a sentence says why', async () => {
  const { query } = installations.postgres as Postgres
  const name = '9999-old-columns-takes-away'
  await query(database, `insert into kysely_migration values ('${name}', '2027-01-01T00:00:00.000Z')`)
  await killApi()
  const known = service.log.length
  const told = () =>
    sentences()
      .slice(known)
      .find((sentence) => sentence.includes(name))
  expect(await failuresDuring(waitFor('the sentence', async () => told() !== undefined))).toEqual([])
  expect(told()).toMatch(/^cannot start: the database belongs to a newer build: it has the migration 9999-[^\n]*$/)
  await query(database, `delete from kysely_migration where name = '${name}'`)
  expect(await failuresDuring(ready())).toEqual([])
  expect(await service.stop()).toBe(0)
})
