// REPOS_DIR on a file system that counts as remote (FUSE), and is slow or does not answer for a while.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { createInstallations, type Installation, type Installations } from '../crash/installations.ts'
import { examine, waitFor } from '../crash/state.ts'
import { need } from '../need.ts'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'
import { watchTurns } from '../turns.mjs'
import { longest, notingTurns, turnsIn } from '../turns.ts'

/** ARCHITECTURE.md promises this for a turn of the event loop that waits for files. */
const MOST_BLOCKED_MS = 250
const STALLED_RESPONSIVE_MS = 1_000
/** serve/published-tree waits 5 s, operations/monitoring/health 4 s. */
const REFUSED_MS = 10_000
const INDEX = '/repos/dists/jammy/InRelease'

let installations: Installations
let installation: Installation
let files: SlowFiles
let service: Service
beforeAll(() => need('python3-pyfuse3'))
beforeAll(async () => void (installations = await createInstallations('postgres')))
afterAll(() => installations?.remove())
beforeEach(async () => {
  installation = await installations.copy()
  files = await mountSlowFiles(installation.reposDir, join(installation.directory, 'slow'))
  service = await startService({ ...installation, reposDir: files.mount, env: notingTurns(turnsFile()) })
})
afterEach(async () => {
  await files.tell('go')
  await files.tell('delay 0')
  await service.kill()
  await files.unmount()
  await installation.remove()
})

const turnsFile = () => join(installation.directory, 'turns')

interface SlowFiles {
  mount: string
  /** a line of slow-files.py */
  tell(line: string): Promise<void>
  unmount(): Promise<void>
}

async function mountSlowFiles(directory: string, mount: string): Promise<SlowFiles> {
  await mkdir(mount)
  const program = join(import.meta.dirname, 'slow-files.py')
  const child: ChildProcess = spawn('/usr/bin/python3', [program, directory, mount], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const answers = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  const answered = async () => expect((await answers.next()).value).toBe('ok')
  await answered()
  return {
    mount,
    async tell(line) {
      child.stdin!.write(`${line}\n`)
      await answered()
    },
    async unmount() {
      child.stdin!.end()
      if (child.exitCode === null) await once(child, 'exit')
      await rm(mount, { recursive: true })
    },
  }
}

/** Requests /health/live all the time, from another process. */
function watchLive(): { stop(): Promise<{ slowestMs: number; answers: number }> } {
  let running = true as boolean
  const watching = (async () => {
    const seen = { slowestMs: 0, answers: 0 }
    while (running) {
      const began = performance.now()
      const { status } = await fetch(`${service.api}/health/live`)
      expect(status).toBe(200)
      seen.slowestMs = Math.max(seen.slowestMs, performance.now() - began)
      seen.answers++
      await pause(10)
    }
    return seen
  })()
  watching.catch(() => {})
  return {
    stop() {
      running = false
      return watching
    },
  }
}

const upload = async (name: string) =>
  service.upload(await buildDeb({ name, version: '1.0' }), 'a.deb', { distribution: 'jammy' })

async function timed(url: string): Promise<{ status: number; retryAfter: string | null; ms: number; body: any }> {
  const began = performance.now()
  const response = await fetch(url)
  const text = await response.text()
  const body: unknown = text.startsWith('{') ? JSON.parse(text) : text
  return {
    ...{ status: response.status, retryAfter: response.headers.get('retry-after'), body },
    ms: performance.now() - began,
  }
}

it('A file system that answers each operation after 20 ms: uploads are published, and the process answers', async () => {
  await files.tell('delay 0.02')
  const watch = watchLive()
  const from = Date.now()
  let stalledMs = 0
  const unwatch = watchTurns(({ blockedMs }) => (stalledMs = Math.max(stalledMs, blockedMs)))
  const began = performance.now()
  const uploaded = await upload('slow')
  const tookMs = performance.now() - began
  expect(uploaded.body).toMatchObject({ status: 'published' })
  expect((await timed(service.apt + INDEX)).status).toBe(200)
  const { slowestMs, answers } = await watch.stop()
  unwatch()
  const { blockedMs } = longest(turnsIn(turnsFile(), from))
  console.log(
    `20 ms an operation: an upload in ${tookMs.toFixed(0)} ms, blocked for ${blockedMs.toFixed(0)} ms (machine ${stalledMs.toFixed(0)} ms), ${answers} answers of /health/live, the slowest after ${slowestMs.toFixed(0)} ms`,
  )
  expect(blockedMs - stalledMs).toBeLessThan(MOST_BLOCKED_MS)
})

it('A file system that answers nothing: the process answers, refuses what needs files, and loses nothing', async () => {
  expect((await timed(service.apt + INDEX)).status).toBe(200)
  await files.tell('stall')
  const stalledAt = performance.now()
  const watch = watchLive()
  const uploads = ['one', 'two', 'three'].map(upload)
  for (const one of uploads) one.catch(() => {})
  const asked = await Promise.all(Array.from({ length: 100 }, () => timed(service.apt + INDEX)))
  for (const { status, retryAfter, ms } of asked) {
    expect({ status, retryAfter }).toEqual({ status: 503, retryAfter: '5' })
    expect(ms).toBeLessThan(REFUSED_MS)
  }
  // While the stall is known, nobody waits again.
  expect((await timed(service.apt + INDEX)).ms).toBeLessThan(STALLED_RESPONSIVE_MS)
  for (const wait of [REFUSED_MS, STALLED_RESPONSIVE_MS]) {
    const ready = await timed(`${service.api}/health/ready`)
    expect(ready.status).toBe(503)
    expect(ready.body.failing).toEqual(expect.arrayContaining(['manifests', 'pool']))
    expect(ready.ms).toBeLessThan(wait)
  }
  // The settings are read from memory, and the database has separate threads and connections.
  expect((await service.call('GET', '/artifacts/')).status).toBe(200)
  const { slowestMs, answers } = await watch.stop()
  console.log(
    `stalled for ${((performance.now() - stalledAt) / 1000).toFixed(0)} s: ${answers} answers of /health/live, the slowest after ${slowestMs.toFixed(0)} ms`,
  )
  expect(slowestMs).toBeLessThan(STALLED_RESPONSIVE_MS)

  await files.tell('go')
  const outcomes = (await Promise.all(uploads)).map(({ status, body }) => (status === 201 ? body.status : body.code))
  console.log('uploads that met the stall:', outcomes)
  for (const outcome of outcomes) expect(['published', 'storage_unavailable']).toContain(outcome)
  await waitFor('readiness', async () => (await timed(`${service.api}/health/ready`)).status === 200)
  expect((await upload('after')).body).toMatchObject({ status: 'published' })
  expect((await timed(service.apt + INDEX)).status).toBe(200)
  expect(await service.stop()).toBe(0)
  const { faults, records } = await examine({ ...installation, collected: true })
  expect(faults).toEqual([])
  for (const [n, name] of ['one', 'two', 'three'].entries())
    expect(records.some((record) => record.includes(name))).toBe(outcomes[n] === 'published')
})
