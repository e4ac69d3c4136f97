// What a process that serves repositories reports about itself.
import { readdir } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { ListenerReport } from '../domain/listener-report.ts'
import { createTraffic, type Traffic } from './traffic.ts'

export interface OwnReport {
  /** the counts of one port, by its name */
  traffic(port: string): Traffic
  read(): Promise<ListenerReport>
}

/** How often the event loop is sampled, in ms: by a timer of libuv, which wakes the process but runs no JavaScript. */
const RESOLUTION_MS = 50

export function createOwnReport(): OwnReport {
  const ports = new Map<string, Traffic>()
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()

  /** The recorded value is the time between two samples, in ns. */
  const loopLagSeconds = (): number => {
    const seconds = Math.max(0, delay.max / 1e9 - RESOLUTION_MS / 1000)
    delay.reset()
    return seconds
  }

  return {
    traffic(port) {
      const traffic = ports.get(port) ?? createTraffic()
      ports.set(port, traffic)
      return traffic
    },
    async read() {
      const { rss, heapUsed, heapTotal } = process.memoryUsage()
      return {
        ports: Object.fromEntries([...ports].map(([port, traffic]) => [port, traffic.report()])),
        loopLagSeconds: loopLagSeconds(),
        uptimeSeconds: process.uptime(),
        memory: { rss, heap_used: heapUsed, heap_total: heapTotal },
        openFiles: await openFiles(),
      }
    },
  }
}

/** Only known on Linux. One of the files is the directory that is being read. */
async function openFiles(): Promise<number | null> {
  try {
    return (await readdir('/proc/self/fd')).length - 1
  } catch {
    return null
  }
}
