// Writes responses: a file in its current state, a text, or a refusal. Opens no files.
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { evaluate, rangeIsCurrent } from './conditions.ts'
import { selectRange } from './ranges.ts'
import type { Representation } from './representation.ts'
import { piecesOf, sendBytes, sendFile, sendGunzipped, sendStream, type Progress } from './transfer.ts'

/** A request, its response, and how much of the body has been sent. */
export interface Exchange {
  request: IncomingMessage
  response: ServerResponse
  progress: Progress
  /** name of the credential that was sent, for the access log; left out for none and for one that is not known */
  reader?: string | undefined
}

/** A byte range, both ends included; `last` is `first - 1` when it is empty. */
export interface Part {
  first: number
  last: number
}

/** A part and whether the client asked for one: a range of the whole file is answered as a range too. */
interface SelectedPart extends Part {
  isRange: boolean
}

const PLAIN_TEXT = ['Content-Type', 'text/plain; charset=utf-8']

/** Sends a file, or 206, 304, 412 or 416 as the request's conditions demand. Releases the file. */
export function answerWithFile(exchange: Exchange, shown: Representation, observedMs: number): Promise<void> | void {
  const { response, progress } = exchange
  const { body, file } = shown.source
  if (file) {
    const sent = async () => {
      const part = begin(exchange, shown, observedMs)
      if (part) await sendFile(response, file.handle, part.first, part.last, progress)
    }
    return sent().finally(file.release)
  }
  const part = begin(exchange, shown, observedMs)
  if (!part) return
  const isWhole = part.last - part.first + 1 === body.byteLength
  return sendBytes(response, isWhole ? body : body.subarray(part.first, part.last + 1), progress)
}

/** What is known about bytes that are stored elsewhere. */
export type RemoteFile = Omit<Representation, 'source'>

/**
 * Like `answerWithFile`, for bytes that are stored elsewhere. They are opened only when a body has to be sent, and before the
 * header, so that an error can still be answered.
 * @param open a stream of the part; null when the file no longer exists
 */
export async function answerWithStream(
  exchange: Exchange,
  shown: RemoteFile,
  observedMs: number,
  open: (part: Part, isWhole: boolean) => Promise<Readable | null>,
): Promise<void> {
  const { request, response, progress } = exchange
  const part = select(exchange, shown, observedMs)
  if (!part) return
  const isWhole = part.last - part.first + 1 === shown.sizeBytes
  if (request.method === 'HEAD' || shown.sizeBytes === 0) {
    writeHeader(response, shown, part)
    response.end()
    return
  }
  const stream = await open(part, isWhole)
  if (!stream) {
    refuse(exchange, 404)
    return
  }
  try {
    writeHeader(response, shown, part)
    await sendStream(response, stream, progress)
  } finally {
    stream.destroy()
  }
}

/** Redirects the client to another address, which has the same bytes for a limited time. */
export async function answerWithRedirect(
  exchange: Exchange,
  shown: RemoteFile,
  observedMs: number,
  addressOf: () => Promise<string>,
): Promise<void> {
  const { request, response } = exchange
  if (refusedByConditions(exchange, shown, observedMs)) return
  if (request.method === 'HEAD') {
    response.writeHead(200, shown.headers.whole)
  } else {
    response.writeHead(302, ['Location', await addressOf(), 'Cache-Control', 'no-store', 'Content-Length', '0'])
  }
  response.end()
}

/**
 * Sends the decompressed content of a gzip file. Its length is not known in advance, so ranges are not supported.
 * Releases the file.
 */
export async function answerWithContent(
  exchange: Exchange,
  compressed: Representation,
  observedMs: number,
): Promise<void> {
  const { request, response, progress } = exchange
  const { body, file } = compressed.source
  try {
    const shown = contentOf(compressed)
    if (refusedByConditions(exchange, shown, observedMs)) return
    response.writeHead(200, [...PLAIN_TEXT, ...shown.headers.state, 'Accept-Ranges', 'none'])
    if (request.method === 'HEAD') response.end()
    else await sendGunzipped(response, body ? [body] : piecesOf(file.handle, compressed.sizeBytes), progress)
  } finally {
    file?.release()
  }
}

/** Sends 200 with a generated text. */
export function answerWithText(exchange: Exchange, text: string, headers: readonly string[]): void {
  const { request, response, progress } = exchange
  const bytes = Buffer.byteLength(text)
  response.writeHead(200, [
    ...PLAIN_TEXT,
    ...['Content-Length', String(bytes)],
    ...['X-Content-Type-Options', 'nosniff'],
    ...headers,
  ])
  if (request.method === 'HEAD') {
    response.end()
  } else {
    progress.lastBytes = bytes
    response.end(text)
  }
}

/** Sends 204. */
export function answerWithNothing({ response }: Exchange, headers: readonly string[]): void {
  response.writeHead(204, ['Cache-Control', 'no-store', ...headers])
  response.end()
}

/** Sends a short plain text; package clients show little more than the status. */
export function refuse(exchange: Exchange, status: number, headers: readonly string[] = []): void {
  const { request, response, progress } = exchange
  const text = `${STATUS_CODES[status]?.toLowerCase()}\n`
  response.writeHead(status, [
    ...PLAIN_TEXT,
    ...['Content-Length', String(text.length)],
    // A missing file may be published the next moment.
    ...['Cache-Control', 'no-store'],
    ...['X-Content-Type-Options', 'nosniff'],
    ...headers,
  ])
  if (request.method === 'HEAD') {
    response.end()
  } else {
    progress.lastBytes = text.length
    response.end(text)
  }
}

/** Writes the header. Returns the part of the file to send as body; null when the response has no body. */
function begin(exchange: Exchange, shown: RemoteFile, observedMs: number): Part | null {
  const { request, response } = exchange
  const part = select(exchange, shown, observedMs)
  if (!part) return null
  writeHeader(response, shown, part)
  if (request.method === 'GET') return part
  response.end()
  return null
}

/** The part of a file that a request selects; null when the answer has already been sent: 304, 412 or 416. */
function select(exchange: Exchange, shown: RemoteFile, observedMs: number): SelectedPart | null {
  const { request } = exchange
  const { validators, sizeBytes } = shown
  if (refusedByConditions(exchange, shown, observedMs)) return null
  const range = request.method === 'GET' ? request.headers.range : undefined
  const asked =
    range !== undefined && rangeIsCurrent(request.headers, validators, observedMs)
      ? selectRange(range, sizeBytes)
      : null
  if (asked?.kind === 'unsatisfiable') {
    refuse(exchange, 416, ['Content-Range', `bytes */${sizeBytes}`])
    return null
  }
  if (asked?.kind === 'part') return { first: asked.first, last: asked.last, isRange: true }
  return { first: 0, last: sizeBytes - 1, isRange: false }
}

function writeHeader(response: ServerResponse, shown: RemoteFile, { first, last, isRange }: SelectedPart): void {
  const { sizeBytes, headers } = shown
  if (!isRange) {
    response.writeHead(200, headers.whole)
    return
  }
  const part = ['Content-Range', `bytes ${first}-${last}/${sizeBytes}`, 'Content-Length', String(last - first + 1)]
  response.writeHead(206, [...headers.type, ...headers.state, ...part])
}

/** Sends 304 or 412 where the request's conditions demand it. */
function refusedByConditions(exchange: Exchange, shown: RemoteFile, observedMs: number): boolean {
  const { request, response } = exchange
  const outcome = evaluate(request.headers, shown.validators, observedMs)
  if (outcome === 'send') return false
  if (outcome === 'precondition_failed') {
    refuse(exchange, 412)
  } else {
    response.writeHead(304, [...shown.headers.state])
    response.end()
  }
  return true
}

/** The decompressed content has the dates of the compressed file, but needs a separate entity tag. */
function contentOf(compressed: Representation): Representation {
  const etag = compressed.validators.etag.replace(/"$/, '-plain"')
  const state = compressed.headers.state.map((field) => (field === compressed.validators.etag ? etag : field))
  return {
    ...compressed,
    validators: { ...compressed.validators, etag },
    headers: { ...compressed.headers, state },
  }
}
