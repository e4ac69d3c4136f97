// How long turns of an event loop take, as processor time of the main thread, which other work on the machine does not lengthen.
// Loaded into a measured service (`NODE_OPTIONS=--import`), it writes a line for each long one to TURNS_FILE; see turns.ts.
import { appendFileSync, readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/** Between two looks lies at most this long and one turn. */
const EVERY_MS = 5
/** Shorter ones are not written. */
const LONG_MS = 15

/**
 * @param {(turn: { cpuMs: number, blockedMs: number }) => void} note receives each turn, with up to `EVERY_MS` before it: its
 * processor time, and the time in which it neither computed nor waited for a processor, as in a synchronous call of the file system
 * @returns {() => void} stops watching
 */
export function watchTurns(note) {
  // "time spent on the cpu, time spent waiting on a runqueue": https://www.kernel.org/doc/html/latest/scheduler/sched-stats.html
  const look = () => {
    const [cpu, waited] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')
    return { at: performance.now(), cpuMs: Number(cpu) / 1e6, waitedMs: Number(waited) / 1e6 }
  }
  let before = look()
  const timer = setInterval(() => {
    const now = look()
    const cpuMs = now.cpuMs - before.cpuMs
    const busyMs = cpuMs + now.waitedMs - before.waitedMs
    note({ cpuMs, blockedMs: Math.max(0, now.at - before.at - busyMs - EVERY_MS) })
    before = now
  }, EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

const file = process.env['TURNS_FILE']
if (file && isMainThread) {
  // Its children are not what is measured.
  delete process.env['TURNS_FILE']
  watchTurns(({ cpuMs, blockedMs }) => {
    if (Math.max(cpuMs, blockedMs) > LONG_MS)
      appendFileSync(file, `${Date.now()} ${cpuMs.toFixed(1)} ${blockedMs.toFixed(1)}\n`)
  })
}
