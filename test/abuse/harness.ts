// Starts the built service for the abuse suites, and measures it from inside and from another process during the abuse.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'vitest'
import { createTestDatabase } from '../database.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { longest, notingTurns, turnsIn } from '../turns.ts'

export type EngineName = 'embedded' | 'postgres'

/** PostgreSQL is tested too when TEST_DATABASE_URL names a server, as `bin/with-postgres.mjs` sets it. */
export const ENGINES: readonly EngineName[] = process.env['TEST_DATABASE_URL'] ? ['embedded', 'postgres'] : ['embedded']

/**
 * The rule of the suite limits the longest turn of the event loop, in processor time, which does not depend on other work of the
 * machine, and the longest time that a turn was blocked in a synchronous call.
 */
export const MOST_TURN_MS = 250
export const MOST_BLOCKED_MS = 250
/** Kubernetes counts a probe as failed when /health/live has not answered after this time (deploy/kubernetes). */
const PROBE_MS = 5_000
export const MOST_GROWN_MB = 300
/** The same upload grew the service by 231 to 287 MB in five runs, because V8 chooses when to collect garbage. */
const GROWN_TOLERANCE_MB = 60

export interface Measured<T = unknown> {
  /** the result of the abuse */
  result: T
  /** longest turn of the service's event loop: processor time, and time blocked in synchronous calls, ms */
  turnMs: number
  blockedMs: number
  /** longest time for which the machine stopped an idle process, ms */
  stalledMs: number
  /** longest time of an answer of /health/live, and of an idle server in another process, ms */
  liveMs: number
  controlMs: number
  /** growth of the resident set from its earlier size to its peak, MiB */
  grownMb: number
  beforeMb: number
  samples: number
  /** probes that were refused or interrupted */
  failures: number
  lastFailure: string | null
}

export interface Target extends Service {
  /** Samples while `abuse` runs and for `afterMs` (default 500) afterwards. */
  measure<T>(abuse: () => Promise<T>, options?: { afterMs?: number }): Promise<Measured<T>>
  /** Stops the service and removes its database and files. */
  remove(): Promise<void>
}

/** @param env added to the environment of `startService`; RATE_LIMIT_FACTOR '1' gives the real limits */
export async function startTarget(engine: EngineName, env: Record<string, string> = {}): Promise<Target> {
  const database = engine === 'postgres' ? await createTestDatabase() : null
  const notes = await mkdtemp(join(tmpdir(), 'gatehouse-turns-'))
  const turnsFile = join(notes, 'turns')
  const service = await startService({
    ...(database ? { databaseUrl: database.url } : {}),
    env: { ...env, ...notingTurns(turnsFile) },
    optimized: true,
  })
  return Object.assign(service, {
    measure: <T>(abuse: () => Promise<T>, { afterMs = 500 } = {}) => measure(service, turnsFile, abuse, afterMs),
    async remove() {
      // An abused service that does not stop must not block the suite.
      const hung = setTimeout(() => service.process.kill('SIGKILL'), 60_000)
      await service.stop()
      clearTimeout(hung)
      await database?.close()
      await rm(notes, { recursive: true })
      await removeTemporary()
    },
  })
}

async function measure<T>(
  service: Service,
  turnsFile: string,
  abuse: () => Promise<T>,
  afterMs: number,
): Promise<Measured<T>> {
  const from = Date.now()
  const sampler = spawn(process.execPath, [
    join(import.meta.dirname, 'sampler.mjs'),
    service.api,
    String(service.process.pid),
  ])
  const lines = createInterface({ input: sampler.stdout })
  await once(lines, 'line')
  let result: T
  const report = once(lines, 'line')
  // A real attacker has a separate machine; here the attack gets the processor time that the service leaves.
  setPriority(process.pid, 10)
  try {
    result = await abuse()
    await new Promise((resolve) => setTimeout(resolve, afterMs))
  } finally {
    sampler.kill('SIGTERM')
    setPriority(process.pid, 0)
  }
  const [line] = (await report) as [string]
  const { cpuMs: turnMs, blockedMs } = longest(turnsIn(turnsFile, from))
  return { result, turnMs, blockedMs, ...(JSON.parse(line) as Omit<Measured, 'result' | 'turnMs' | 'blockedMs'>) }
}

/**
 * Compares the measurements with the rule and prints them, so that a run leaves figures.
 * @param alsoMb growth that is allowed in addition
 */
export function expectHarmless(name: string, measured: Measured, alsoMb = 0): void {
  const { turnMs, blockedMs, stalledMs, liveMs, controlMs, grownMb, beforeMb, samples, failures, lastFailure } =
    measured
  const times = `longest turn ${turnMs.toFixed(0)} ms, blocked ${blockedMs.toFixed(0)} ms (machine ${stalledMs.toFixed(0)} ms), live ${liveMs.toFixed(0)} ms (control ${controlMs.toFixed(0)} ms)`
  const figures = `${times}, +${grownMb.toFixed(0)} MB on ${beforeMb.toFixed(0)} MB, ${samples} samples`
  console.log(`${name}: ${figures}`)
  expect({ failures, lastFailure }, `${name}: probes that failed`).toEqual({ failures: 0, lastFailure: null })
  expect(samples, `${name}: samples`).toBeGreaterThan(0)
  expect(turnMs, `${name}: ${figures}`).toBeLessThan(MOST_TURN_MS)
  expect(blockedMs - stalledMs, `${name}: ${figures}`).toBeLessThan(MOST_BLOCKED_MS)
  expect(liveMs - controlMs, `${name}: ${figures}`).toBeLessThan(PROBE_MS)
  expect(grownMb, `${name}: ${figures}`).toBeLessThan(MOST_GROWN_MB + GROWN_TOLERANCE_MB + alsoMb)
}

/** Opens a socket to a listener of the service (`api`, `apt`, `rpm`). The caller's `closed` handles errors. */
export async function openSocket(address: string): Promise<Socket> {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** Waits until the service has closed all the sockets, or for `ms` milliseconds. @returns the number of closed ones */
export async function closedBy(sockets: readonly Socket[], ms: number): Promise<number> {
  const all = Promise.all(sockets.filter((socket) => !socket.closed).map((socket) => once(socket, 'close')))
  await Promise.race([all, new Promise((resolve) => setTimeout(resolve, ms))])
  return sockets.filter((socket) => socket.closed).length
}
