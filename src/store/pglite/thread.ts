// The thread of the embedded database.
import { readFile } from 'node:fs/promises'
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { PGlite, type Results } from '@electric-sql/pglite'
import type { Page, Request, Statement, ThreadData } from './messages.ts'

const JSON_TYPES = [114, 3802]
const BYTEA = 17
const asText = (text: string) => text
/** PGlite's own conversions of bytea make a string of each byte: 10 MB took all 512 MB of the thread. */
const SERIALIZERS = { [BYTEA]: (bytes: Uint8Array) => `\\x${Buffer.from(bytes).toString('hex')}` }
const PARSERS: Record<number, (text: string) => unknown> = {
  ...Object.fromEntries(JSON_TYPES.map((type) => [type, asText])),
  // A copy, because a small Buffer shares its memory with others, which would be sent too.
  [BYTEA]: (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex')),
}

/** Estimated size of a page, in bytes. The receiver copies a page without a pause: 1 MiB takes about 2 ms. */
const PAGE_BYTES = 512 * 1024
/** Larger values are transferred instead of copied. */
const TRANSFERRED_BYTES = 64 * 1024

/** PGlite's own parameters, and smaller buffers: 128 MB of shared buffers would all become resident in time. */
const START_PARAMETERS = [
  ...PGlite.defaultStartParams,
  ...['shared_buffers=32MB', 'wal_buffers=1MB', 'max_connections=4'].flatMap((setting) => ['-c', setting]),
]

const port = parentPort as MessagePort
const { directory, seed } = workerData as ThreadData

const database = await PGlite.create({
  ...(directory === null ? {} : { dataDir: directory }),
  ...(seed === null ? {} : { loadDataDir: new Blob([await readFile(seed)]) }),
  startParams: START_PARAMETERS,
})

const { Module: wasm } = database as unknown as { Module: { HEAPU8: Uint8Array } }
const bytes = () => wasm.HEAPU8.byteLength

/** The pages of the last result that were not requested yet. */
let pages: { page: Page; transferred: ArrayBuffer[] }[] = []

async function ask({ sql, parameters, blob }: Statement): Promise<void> {
  const result: Results<unknown[]> = await database.query(sql, [...parameters], {
    rowMode: 'array',
    parsers: PARSERS,
    serializers: SERIALIZERS,
    ...(blob ? { blob: new Blob([blob as Uint8Array<ArrayBuffer>]) } : {}),
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

interface Cut {
  rows: unknown[][]
  transferred: ArrayBuffer[]
}

function cut(rows: readonly unknown[][]): Cut[] {
  let current: Cut = { rows: [], transferred: [] }
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

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (value instanceof Uint8Array) return value.byteLength
  if (!Array.isArray(value)) return 8
  let size = 8
  for (const one of value as unknown[]) size += sizeOf(one)
  return size
}

function sendPage(): void {
  const next = pages.shift()
  if (next) port.postMessage(next.page, next.transferred)
}

port.on('message', (request: Request) => void answer(request))

async function answer(request: Request): Promise<void> {
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

/** Keeps only the fields that can be sent. */
function plain(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value)),
  )
}

port.postMessage({ ready: true, bytes: bytes() })
