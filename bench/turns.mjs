// How long turns of an event loop take, as processor time of the main thread, which other work on the machine does not lengthen.
// Loaded into a measured service (`NODE_OPTIONS=--import`), it writes a line for each long one to TURNS_FILE: milliseconds since 1970,
// and milliseconds of processor time.
import { appendFileSync, readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/** Between two looks lies at most this long and one turn. */
const EVERY_MS = 5
/** Shorter ones are not written. */
const LONG_MS = 15

/**
 * @param {(ms: number) => void} note receives the processor time of each turn, with up to `EVERY_MS` before it
 * @returns {() => void} stops watching
 */
export function watchTurns(note) {
  const used = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  let before = used()
  const timer = setInterval(() => {
    note(used() - before)
    before = used()
  }, EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

const file = process.env['TURNS_FILE']
if (file && isMainThread) {
  // Its children are not what is measured.
  delete process.env['TURNS_FILE']
  watchTurns((ms) => {
    if (ms > LONG_MS) appendFileSync(file, `${Date.now()} ${ms.toFixed(1)}\n`)
  })
}
