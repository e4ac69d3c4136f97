// The memory that a list of 40 MB and five wheels of 450 MB cost a service, with its readers, when clients ask for all of them at once,
// and how long they hold its event loop.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startPostgres, type Postgres } from '../crash/postgres.ts'
import { startLargeRegistry } from '../fakes/large-registry.ts'
import type { LyingServer } from '../fakes/lying-server.ts'
import { startSimpleIndex, type SimpleIndex } from '../fakes/simple-index.ts'
import { watchMemory } from '../process-memory.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { longest, notingTurns, turnsIn } from '../turns.ts'
import { largeWheel } from './large-wheel.ts'

const MIB = 1024 * 1024
const MOST_BYTES = 400 * MIB
const MOST_TURN_MS = 50
const WHEELS = ['alpha', 'beta', 'gamma', 'delta', 'epsilon']

let directory: string
let postgres: Postgres
let npm: LyingServer
let pypi: SimpleIndex
let service: Service
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'proxy-memory-'))
  postgres = await startPostgres()
  npm = await startLargeRegistry([{ name: 'huge', listBytes: 40 * MIB, fileBytes: MIB }])
  pypi = await startSimpleIndex()
  for (const name of WHEELS) {
    const wheel = largeWheel(name, 450)
    const listed = { hashes: { sha256: wheel.sha256 }, size: wheel.sizeBytes }
    pypi.put(name, [{ filename: wheel.filename, bytes: Buffer.alloc(0), listed }])
    pypi.lie(`files/${wheel.filename}`, (_, response) => {
      response.writeHead(200, { 'content-length': wheel.sizeBytes })
      Readable.from(wheel.pieces()).pipe(response)
    })
  }
  service = await startService({
    ...{ optimized: true, databaseUrl: await postgres.create('proxies') },
    env: { ALLOW_PRIVATE_SOURCES: 'true', ...notingTurns(join(directory, 'turns')) },
  })
  for (const [format, { url }] of Object.entries({ npm, pypi })) {
    const body = { format, name: 'world', kind: 'proxy', public: true, upstream: { url } }
    expect((await service.call('POST', '/registries', body)).status).toBe(201)
  }
})
afterAll(async () => {
  await service?.stop()
  for (const server of [npm, pypi]) await server?.close()
  await postgres?.remove()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

/** As clients do: again after 429. @returns the bytes of the answer */
async function fetched(path: string, headers = {}): Promise<number> {
  for (;;) {
    const answer = await fetch(`${service.api}${path}`, { headers })
    if (answer.status === 429) {
      await answer.body?.cancel()
      await new Promise((done) => setTimeout(done, 1000 * Number(answer.headers.get('retry-after'))))
      continue
    }
    expect([path, answer.status]).toEqual([path, 200])
    let bytes = 0
    for await (const piece of answer.body!) bytes += (piece as Uint8Array).byteLength
    return bytes
  }
}

test('a list of 40 MB and five wheels of 450 MB at once take 400 MB, and hold the event loop for 50 ms at most', async () => {
  const memory = watchMemory(service.process.pid!)
  const from = Date.now()
  const short = { accept: 'application/vnd.npm.install-v1+json' }
  const sizes = await Promise.all([
    fetched('/npm/world/huge', short),
    fetched('/npm/world/huge'),
    ...WHEELS.map((name) => fetched(`/pypi/world/files/${name}/${name}-1.0-py3-none-any.whl`)),
  ])
  const { own, readers, all } = memory.stop()
  const { cpuMs } = longest(turnsIn(join(directory, 'turns'), from))
  const [o, r, a] = [own, readers, all].map((bytes) => Math.round(bytes / MIB))
  console.log(`the service at most ${o} MiB, its readers ${r}, both ${a}; the longest turn ${cpuMs} ms`)
  for (const size of sizes.slice(2)) expect(size).toBeGreaterThan(450 * MIB)
  expect(all).toBeLessThan(MOST_BYTES)
  expect(cpuMs).toBeLessThan(MOST_TURN_MS)
})
