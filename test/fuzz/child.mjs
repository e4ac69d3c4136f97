// Reads one file after another as the intake does, in its own process, so that a hang or crash does not stop the suite.
import { open } from 'node:fs/promises'

/** @type {typeof import('../../src/formats/index.ts')} */
const { recognize } = await import(new URL('../../dist/formats/index.js', import.meta.url).href)

let peakBytes = 0

/** @param {string} path */
async function read(path) {
  const handle = await open(path)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(4096), 0, 4096, 0)
  await handle.close()
  const format = recognize(buffer.subarray(0, bytesRead))
  if (!format) return 'unrecognized'
  await format.read(path)
  // A readable package is unpacked for the scanners next.
  for await (const member of format.members(path)) for await (const _chunk of member.content);
  return 'package'
}

/** @param {string} path */
async function measure(path) {
  const before = process.cpuUsage()
  const started = performance.now()
  let outcome
  let fault = null
  try {
    outcome = await read(path)
  } catch (thrown) {
    const error = /** @type {Error & { code?: string }} */ (thrown)
    outcome = error.name === 'Problem' ? error.code : 'fault'
    if (outcome === 'fault') fault = String(error.stack ?? error)
  }
  const { user, system } = process.cpuUsage(before)
  peakBytes = Math.max(peakBytes, process.memoryUsage.rss())
  process.send?.({ outcome, fault, wallMs: performance.now() - started, cpuMs: (user + system) / 1000, peakBytes })
}

process.on('message', (/** @type {{ path: string }} */ { path }) => void measure(path))
