// A separate process that requests /health/live repeatedly and reads the memory of the service; see harness.ts.
// Arguments: the API's address and the process id of the service. On SIGTERM it prints its measurements as JSON.
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { watchTurns } from '../turns.mjs'

const [api, pid] = process.argv.slice(2)
const EVERY_MS = 25

const memoryMb = (key) => {
  try {
    return (
      Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
    )
  } catch {
    return NaN
  }
}

/** Opens a new connection for each request, as a probe does. @returns ms until the whole answer arrived */
const ask = (url) =>
  new Promise((resolve, reject) => {
    const started = performance.now()
    const asked = request(url, { agent: false }, (answer) => {
      answer.resume()
      answer.on('end', () =>
        answer.statusCode === 200
          ? resolve(performance.now() - started)
          : reject(new Error(`${url} answered ${answer.statusCode}`)),
      )
    })
    asked.on('error', reject)
    asked.end()
  })

const seen = { samples: 0, liveMs: 0, controlMs: 0, stalledMs: 0, failures: 0, lastFailure: null }
let pending = null
let ended = false

async function sample(url, key) {
  while (!ended) {
    if (key === 'liveMs') pending = performance.now()
    try {
      const ms = await ask(url)
      seen[key] = Math.max(seen[key], ms)
      if (key === 'liveMs') seen.samples++
    } catch (error) {
      if (key === 'liveMs') {
        // A refused probe counts like one that is never answered.
        seen.failures++
        seen.lastFailure = String(error)
      }
    }
    if (key === 'liveMs') pending = null
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
}

// The control server runs in this idle process, so its times show the load of the machine.
const control = createServer((_request, response) => response.end('ok'))
control.listen(0, '127.0.0.1', () => {
  void sample(`http://127.0.0.1:${control.address().port}/`, 'controlMs')
  void sample(`${api}/health/live`, 'liveMs')
  const before = memoryMb('VmRSS')
  try {
    // Resets the peak (VmHWM) to the current size: https://www.man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
  } catch {
    // Without permission for that, the peak counts from the start of the service.
  }
  watchTurns(({ blockedMs }) => (seen.stalledMs = Math.max(seen.stalledMs, blockedMs)))
  process.stdout.write('sampling\n')
  process.once('SIGTERM', () => {
    ended = true
    if (pending !== null) seen.liveMs = Math.max(seen.liveMs, performance.now() - pending)
    const result = { ...seen, grownMb: memoryMb('VmHWM') - before, beforeMb: before }
    process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0))
  })
})
