// The memory of a service and of the readers that it has started.
import { readFileSync } from 'node:fs'

const EVERY_MS = 100

/** In use by this process, with its share of what several use. */
const bytesOf = (pid: number | string): number =>
  1024 * Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0)

/** @returns in bytes, what the service, its readers, and both together took at most until `stop` */
export function watchMemory(pid: number): { stop(): { own: number; readers: number; all: number } } {
  const most = { own: 0, readers: 0, all: 0 }
  const look = () => {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
    let readers = 0
    for (const child of children)
      try {
        readers += bytesOf(child)
      } catch {
        // It has ended.
      }
    const own = bytesOf(pid)
    most.own = Math.max(most.own, own)
    most.readers = Math.max(most.readers, readers)
    most.all = Math.max(most.all, own + readers)
  }
  look()
  const timer = setInterval(look, EVERY_MS)
  return {
    stop() {
      clearInterval(timer)
      look()
      return most
    },
  }
}
