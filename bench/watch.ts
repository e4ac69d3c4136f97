// Observes a service during long work: sends requests at the same time, and records its memory and its turns of the event loop.
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startService, type Service, type ServiceOptions } from '../test/service.ts'
import { notingTurns, turnsIn } from '../test/turns.ts'
import { quantile } from './database.ts'

/** Requests that are repeated during the work. */
const PROBES = [
  ['/health/live', 20],
  ['/artifacts/?page=2', 100],
] as const

export interface Watched extends Service {
  /** Runs the work and prints what happened meanwhile, as lines for people. @returns the result of the work */
  during<T>(what: string, work: () => Promise<T>): Promise<T>
  /** A request that may take an hour. @returns the body of its answer; @throws for a status other than 200 and 201 */
  ask(method: string, path: string, body?: object): Promise<any>
}

/** @param base a directory for the records */
export async function startWatched(base: string, options: ServiceOptions): Promise<Watched> {
  const turnsFile = join(base, 'turns')
  const service = await startService({
    ...options,
    optimized: true,
    env: { ...options.env, ...notingTurns(turnsFile) },
  })

  async function probe(path: string, everyMs: number, isOver: () => boolean): Promise<number[]> {
    const took: number[] = []
    while (!isOver()) {
      const began = performance.now()
      const { status } = await service.call('GET', path)
      if (status !== 200) throw new Error(`${path}: ${status}`)
      took.push(performance.now() - began)
      await sleep(everyMs)
    }
    return took
  }

  async function observe<T>(what: string, work: () => Promise<T>): Promise<T> {
    const pid = service.process.pid!
    const [memory, cpu, from, began] = [memoryOf(pid), cpuOf(pid), Date.now(), performance.now()]
    let [peak, isOver] = [memory, false]
    const sampling = setInterval(() => (peak = Math.max(peak, memoryOf(pid))), 200)
    const probing = PROBES.map(([path, everyMs]) => probe(path, everyMs, () => isOver))
    const result = await work().finally(() => {
      isOver = true
      clearInterval(sampling)
    })
    const seconds = (performance.now() - began) / 1000
    const times = await Promise.all(probing)
    const turns = turnsIn(turnsFile, from).map(({ cpuMs }) => cpuMs)
    console.log(
      `${what}: ${seconds.toFixed(1)} s, ${(cpuOf(pid) - cpu).toFixed(1)} s of CPU, memory ${memory} MiB before, ${peak} at most, ` +
        `longest turn ${Math.max(15, ...turns).toFixed(0)} ms of CPU, ${turns.filter((ms) => ms > 50).length} above 50, load ${loadavg()[0]!.toFixed(1)}`,
    )
    for (const [i, [path]] of PROBES.entries())
      console.log(
        `  ${path}: ${times[i]!.length} requests, median ${quantile(times[i]!, 0.5).toFixed(0)} ms, p99 ${quantile(times[i]!, 0.99).toFixed(0)} ms, most ${Math.max(...times[i]!).toFixed(0)} ms`,
      )
    return result
  }

  return Object.assign(service, {
    during: observe,
    ask: (method: string, path: string, body?: object) =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' }
        const sent = request(`${service.api}/api/v1${path}`, { method, headers }, (answer) => {
          let text = ''
          answer.setEncoding('utf8').on('data', (part: string) => (text += part))
          answer.on('end', () => {
            if (answer.statusCode === 200 || answer.statusCode === 201) resolve(JSON.parse(text))
            else reject(new Error(`${path}: ${answer.statusCode} ${text}`))
          })
        })
        sent.on('error', reject).end(body && JSON.stringify(body))
      }),
  })
}

/** Resident memory in MiB. */
function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024)
}

/** Seconds of processor time of all its threads. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}
