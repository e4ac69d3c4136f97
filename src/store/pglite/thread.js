// The thread of the embedded database. JavaScript, because Node 20 starts no thread from TypeScript: dist/ and the tests
// both run this file as it is.
// @ts-check
import { readFile } from 'node:fs/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'

/** @typedef {import('./messages.ts').Page} Page */

const JSON_TYPES = [114, 3802]
const BYTEA = 17
/** @param {string} text */
const asText = (text) => text
/** PGlite's own conversions of bytea make a string of each byte: 10 MB took all of the thread's 512 MB. */
const SERIALIZERS = { [BYTEA]: (/** @type {Uint8Array} */ bytes) => `\\x${Buffer.from(bytes).toString('hex')}` }
/** @type {Record<number, (text: string) => unknown>} */
const PARSERS = {
  ...Object.fromEntries(JSON_TYPES.map((type) => [type, asText])),
  // A copy, because a small Buffer shares its memory with others, which would be sent along.
  [BYTEA]: (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex')),
}

/** Estimated size of a page, in bytes. The receiver copies a page without a break: 1 MiB takes about 2 ms. */
const PAGE_BYTES = 512 * 1024
/** Larger values change hands instead of being copied. */
const TRANSFERRED_BYTES = 64 * 1024

/** PGlite's own parameters, and smaller buffers: 128 MB of shared buffers would all become resident in time. */
const START_PARAMETERS = [
  ...PGlite.defaultStartParams,
  ...['shared_buffers=32MB', 'wal_buffers=1MB', 'max_connections=4'].flatMap((setting) => ['-c', setting]),
]

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort)
/** @type {unknown} */
const given = workerData
const { directory, seed } = /** @type {import('./messages.ts').ThreadData} */ (given)

const database = await PGlite.create({
  ...(directory === null ? {} : { dataDir: directory }),
  ...(seed === null ? {} : { loadDataDir: new Blob([await readFile(seed)]) }),
  startParams: START_PARAMETERS,
})

const { Module: wasm } = /** @type {{ Module: { HEAPU8: Uint8Array } }} */ (/** @type {unknown} */ (database))
const bytes = () => wasm.HEAPU8.byteLength

/** The pages of the last result that were not asked for yet. @type {{ page: Page, transferred: ArrayBuffer[] }[]} */
let pages = []

/** @param {import('./messages.ts').Statement} statement */
async function ask({ sql, parameters, blob }) {
  /** @type {import('@electric-sql/pglite').Results<unknown[]>} */
  const result = await database.query(sql, [...parameters], {
    rowMode: 'array',
    parsers: PARSERS,
    serializers: SERIALIZERS,
    ...(blob ? { blob: new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (blob)]) } : {}),
  })
  const written = result.blob ? new Uint8Array(await result.blob.arrayBuffer()) : null
  const fields = {
    columns: result.fields.map(({ name }) => name),
    json: result.fields.flatMap(({ dataTypeID }, place) => (JSON_TYPES.includes(dataTypeID) ? [place] : [])),
    affectedRows: result.affectedRows,
    bytes: bytes(),
  }
  pages = cut(result.rows).map(({ rows, transferred }, at, { length }) => ({
    page: { ...fields, rows, more: at < length - 1 },
    transferred,
  }))
  const last = pages.at(-1)
  if (written && last) {
    last.page.blob = written
    last.transferred.push(written.buffer)
  }
}

/** @param {unknown[][]} rows */
function cut(rows) {
  /** @type {{ rows: unknown[][], transferred: ArrayBuffer[] }} */
  let current = { rows: [], transferred: [] }
  const cuts = [current]
  let size = 0
  for (const row of rows) {
    if (size >= PAGE_BYTES) {
      current = { rows: [], transferred: [] }
      cuts.push(current)
      size = 0
    }
    current.rows.push(row)
    for (const value of row) {
      size += sizeOf(value)
      if (value instanceof Uint8Array && value.byteLength >= TRANSFERRED_BYTES && value.buffer instanceof ArrayBuffer)
        current.transferred.push(value.buffer)
    }
  }
  return cuts
}

/** @param {unknown} value @returns {number} */
function sizeOf(value) {
  if (typeof value === 'string') return value.length
  if (value instanceof Uint8Array) return value.byteLength
  if (!Array.isArray(value)) return 8
  let size = 8
  for (const one of /** @type {unknown[]} */ (value)) size += sizeOf(one)
  return size
}

function sendPage() {
  const { page, transferred } = /** @type {{ page: Page, transferred: ArrayBuffer[] }} */ (pages.shift())
  port.postMessage(page, transferred)
}

port.on('message', (/** @type {import('./messages.ts').Request} */ request) => void answer(request))

/** @param {import('./messages.ts').Request} request */
async function answer(request) {
  try {
    if ('close' in request) {
      await database.close()
      port.postMessage({ closed: true })
      port.close()
      return
    }
    if ('sql' in request) await ask(request)
    sendPage()
  } catch (error) {
    const { message, ...fields } = error instanceof Error ? error : new Error(String(error))
    port.postMessage({ error: { message, fields: plain(fields) } })
  }
}

/** Only what can be sent. @param {object} fields */
function plain(fields) {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value)),
  )
}

port.postMessage({ ready: true, bytes: bytes() })
