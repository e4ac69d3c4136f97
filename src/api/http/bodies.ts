// Reads request bodies and parses JSON and forms, within limits of size, number of values and memory.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { invalidField, Problem } from '../../domain/problem.ts'
import { isStorable } from '../../domain/storable.ts'
import type { Route } from './route.ts'
import { unstorable } from './storable.ts'

const BODY_LIMIT = 1024 * 1024
/** Total bytes of all unfinished bodies of callers without a credential. */
const ANONYMOUS_BYTES = 32 * 1024 * 1024
/** 1 MB holds 500,000 values, which take 200 ms to parse and validate. */
const MOST_VALUES = 50_000
const MOST_DEPTH = 64
const MOST_FORM_FIELDS = 100

interface OpenBody {
  bytes: number
  fail(problem: Problem): void
}

/** The total bytes of unfinished bodies. */
export interface BodyBudget {
  readonly totalBytes: number
  add(body: OpenBody): void
  remove(body: OpenBody): void
  /** Counts bytes read. Over the budget it drops the largest bodies, so that small ones such as a login pass. */
  count(body: OpenBody, bytes: number): void
}

export function createBodyBudget(limitBytes = ANONYMOUS_BYTES): BodyBudget {
  const open = new Set<OpenBody>()
  let total = 0
  return {
    get totalBytes() {
      return total
    },
    add(body) {
      open.add(body)
      total += body.bytes
    },
    remove(body) {
      if (open.delete(body)) total -= body.bytes
    },
    count(body, bytes) {
      body.bytes += bytes
      if (!open.has(body)) return
      total += bytes
      while (total > limitBytes) {
        const largest = [...open].reduce((a, b) => (b.bytes > a.bytes ? b : a))
        largest.fail(new Problem('overloaded', 'too many request bodies are being read', {}, { retryAfterSeconds: 5 }))
      }
    },
  }
}

/** Registers parsers for the accepted content types. Other types are refused before the body is read. */
export function acceptBodies(app: FastifyInstance, budget = createBodyBudget()): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async (request: FastifyRequest) => {
    if (!routeOf(request)?.stream) throw invalidField('body', 'has a content type this endpoint does not take')
  })
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    if (routeOf(request)?.stream) return undefined
    const bytes = await readBody(request, payload, budget)
    return routeOf(request)?.flags?.rawBody ? bytes : parseJson(bytes)
  })
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    async (request: FastifyRequest, payload: IncomingMessage) => {
      if (routeOf(request)?.stream) return undefined
      const bytes = await readBody(request, payload, budget)
      return routeOf(request)?.flags?.rawBody ? bytes : parseForm(bytes)
    },
  )
}

const tooLarge = (limitBytes: number) => new Problem('body_too_large', `the body is larger than ${limitBytes} bytes`)

/** @throws Problem('body_too_large') when the length that the client announces is over the limit */
export function requireAnnounced({ headers }: FastifyRequest, limitBytes: number): void {
  if (Number(headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes)
}

/**
 * The body as fast as it is read. The connection stays open when the reader stops early, so that the request can be answered.
 * @throws Problem('body_too_large'), or Problem('validation_error') when the client leaves before the end
 */
export async function* bodyStream({ raw }: FastifyRequest, limitBytes: number): AsyncIterable<Uint8Array> {
  let bytes = 0
  try {
    for await (const piece of raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += piece.length
      if (bytes > limitBytes) throw tooLarge(limitBytes)
      yield piece
    }
  } catch (error) {
    throw raw.errored ? invalidField('body', 'was cut off') : error
  } finally {
    // Discards the rest. Node does not drop a body that was read in part, and the next request would wait behind it.
    raw.on('error', () => {}).resume()
  }
}

const routeOf = (request: FastifyRequest) => (request.routeOptions.config as { route?: Route }).route

/**
 * Reads the whole body.
 * @throws Problem('body_too_large') before reading when the length is announced; Problem('overloaded') for the largest
 * body when the bodies of anonymous callers exceed their budget
 */
async function readBody(request: FastifyRequest, payload: IncomingMessage, budget: BodyBudget): Promise<Buffer> {
  const limitBytes = routeOf(request)?.bodyLimitBytes ?? BODY_LIMIT
  requireAnnounced(request, limitBytes)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const body: OpenBody = {
      bytes: 0,
      fail(problem) {
        settle()
        chunks.length = 0
        reject(problem)
      },
    }
    const take = (chunk: Buffer) => {
      chunks.push(chunk)
      if (body.bytes + chunk.length > limitBytes) body.fail(tooLarge(limitBytes))
      else budget.count(body, chunk.length)
    }
    const finish = () => {
      settle()
      resolve(Buffer.concat(chunks))
    }
    const cutOff = () => body.fail(invalidField('body', 'was cut off'))
    const settle = () => {
      budget.remove(body)
      payload.off('data', take).off('end', finish).off('error', cutOff).off('close', cutOff)
      // Discards the rest. The connection closes after the answer.
      payload.on('error', () => {}).resume()
    }
    if (!request.caller) budget.add(body)
    payload.on('data', take).on('end', finish).on('error', cutOff).on('close', cutOff)
  })
}

/**
 * @throws Problem('validation_error') for text that is not JSON, for too many or too deeply nested values, and for
 * strings that no database column can store
 */
export function parseJson(bytes: Buffer, mostValues = MOST_VALUES): unknown {
  // Some clients set the content type on every request, even without a body.
  if (bytes.length === 0) return undefined
  requireSimple(bytes, mostValues)
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw invalidField('body', 'is not valid JSON')
  }
  // NUL, half a surrogate pair and a hidden `__proto__` can only come from an escape.
  if (text.includes('\\u') || text.includes('__proto__')) makeHarmless(value)
  return value
}

/** Counts values and depth on the raw bytes before they are parsed. Takes 2 ms per MB. */
function requireSimple(bytes: Buffer, mostValues: number): void {
  let values = 0
  let depth = 0
  let inText = false
  for (let i = 0; i < bytes.length && values <= mostValues; i++) {
    const byte = bytes[i]
    if (inText) {
      if (byte === 0x5c /* \ */) i++
      else if (byte === 0x22 /* " */) inText = false
    } else if (byte === 0x22) inText = true
    else if (byte === 0x2c /* , */) values++
    else if (byte === 0x5b || byte === 0x7b /* [ { */) {
      values++
      if (++depth > MOST_DEPTH) throw invalidField('body', `is nested deeper than ${MOST_DEPTH} levels`)
    } else if (byte === 0x5d || byte === 0x7d) depth--
  }
  if (values > mostValues) throw invalidField('body', `has more than ${mostValues} values`)
}

/** Removes `__proto__` keys and refuses strings that no database column can store. */
function makeHarmless(root: unknown): void {
  const pending: unknown[] = [root]
  if (!isStorable(root)) throw unstorable('body')
  while (pending.length > 0) {
    const value = pending.pop()
    if (typeof value !== 'object' || value === null) continue
    const isArray = Array.isArray(value)
    for (const [key, inner] of Object.entries(value)) {
      if (key === '__proto__') {
        Reflect.deleteProperty(value, key)
        continue
      }
      if (!isStorable(key)) throw unstorable('body')
      if (!isStorable(inner)) throw unstorable(isArray ? 'body' : key)
      pending.push(inner)
    }
  }
}

function parseForm(bytes: Buffer): Record<string, string> {
  let fields = 1
  for (const byte of bytes) if (byte === 0x26 /* & */) fields++
  if (fields > MOST_FORM_FIELDS) throw invalidField('body', `has more than ${MOST_FORM_FIELDS} fields`)
  const form = Object.fromEntries(new URLSearchParams(bytes.toString('utf8')))
  for (const [name, text] of Object.entries(form)) if (!isStorable(text)) throw unstorable(name)
  return form
}
