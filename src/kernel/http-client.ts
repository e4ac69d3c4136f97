// Outbound HTTP that cannot be led into the inner network: every address passes the guard, and redirects one by one.
//
// undici's interceptor for redirects (8.13) is not used. It reads the whole body of a redirect (210 MB where ours left after 4),
// also follows 300, and does not show one hop to the check of the next, so https could lead to http. Its interceptors for retries
// and DNS would replace no code: nothing here is retried, and the guard resolves names.
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { request, type Dispatcher } from 'undici'
import { createAddressGuard, type AddressGuardOptions } from './address-guard.ts'
import { failureOf, HttpError, tooLarge } from './http-error.ts'
import { traced } from './http-span.ts'
import { retryAfterMs } from './retry-after.ts'
import { traceHeaders } from './trace.ts'

export interface HttpLimits {
  maxBytes: number
  /** limit for the whole transfer */
  timeoutMs: number
  /** limit for the first byte, and between two bytes; by default only `timeoutMs` counts */
  idleMs?: number
  /** stops the transfer: it fails with the signal's reason */
  signal?: AbortSignal
}

/** An answer of any status except a redirect. */
export interface HttpAnswer {
  /** where it came from in the end: relative addresses in it are below this one */
  url: string
  status: number
  /** by lower-case name */
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** Empty for statuses other than 200 and 206. Fails with an HttpError; leaving the loop frees the connection. */
  body: AsyncIterable<Uint8Array>
  /** Frees the connection of a body that is not read. */
  discard(): void
}

/** A whole answer of any status. */
export interface WholeAnswer {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
}

export interface HttpClient {
  /** @throws HttpError when the target is forbidden, unreachable, too large, too slow, or answers with a status other than 200 */
  get(url: string, limits: HttpLimits): Promise<Buffer>
  /**
   * Sends a GET with additional headers, such as `Range` or `If-None-Match`.
   * @throws HttpError when the target is forbidden, unreachable, too slow, or announces too many bytes
   */
  open(url: string, limits: HttpLimits, headers?: Readonly<Record<string, string>>): Promise<HttpAnswer>
  /** Writes the body to a new file, and removes that file when the transfer fails. */
  download(url: string, toPath: string, limits: HttpLimits): Promise<void>
  /**
   * Sends a body. @returns the status, 200 to 299
   * @throws HttpError as `get` does, and for a redirect: a body is never sent to a second host
   */
  post(url: string, body: string, headers: Record<string, string>, timeoutMs: number): Promise<number>
  /**
   * Sends one request and reads its answer, whatever its status. Redirects are not followed: the caller gets them.
   * @throws HttpError when the target is forbidden, unreachable, too slow, or answers with too many bytes
   */
  exchange(
    url: string,
    sent: { method: 'GET' | 'POST'; headers: Readonly<Record<string, string>>; body?: string },
    limits: HttpLimits,
  ): Promise<WholeAnswer>
  close(): Promise<void>
}

const REDIRECTS = 5
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308])

export function createHttpClient(options: AddressGuardOptions): HttpClient {
  const { dispatcher, check } = createAddressGuard(options)

  /** Follows redirects, each checked like the first address. */
  async function follow(
    address: string,
    { timeoutMs, idleMs = timeoutMs, signal: stop }: HttpLimits,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ url: URL; answer: Dispatcher.ResponseData }> {
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = stop ? AbortSignal.any([timeout, stop]) : timeout
    let url = parse(address)
    let sent = headers
    for (let hop = 0; hop <= REDIRECTS; hop++) {
      check(url)
      const at = url
      const answer = await traced('GET', at, () =>
        request(at, { dispatcher, signal, headers: sent, headersTimeout: idleMs, bodyTimeout: idleMs }),
      )
      const { location } = answer.headers
      if (!REDIRECT_STATUSES.has(answer.statusCode) || typeof location !== 'string') return { url, answer }
      drop(answer)
      const next = new URL(location, url)
      if (isDowngrade(url, next)) throw new HttpError('forbidden_target', `${url.host} leads from https to http`)
      // A credential belongs to the host that it was configured for.
      if (next.origin !== url.origin) sent = withoutCredential(sent)
      url = next
    }
    throw new HttpError('status', `${url.host} sent too many redirects`)
  }

  async function openOk(address: string, limits: HttpLimits): Promise<Readable> {
    const { url, answer } = await follow(address, limits, {})
    const { statusCode: status, headers, body } = answer
    const isTooLarge = Number(headers['content-length'] ?? 0) > limits.maxBytes
    if (status === 200 && !isTooLarge) return body
    drop(answer)
    if (status === 200) throw tooLarge(url, limits.maxBytes)
    throw new HttpError('status', `${url.host} answered ${status}`, { status })
  }

  async function* counted(body: AsyncIterable<Buffer>, url: string, maxBytes: number): AsyncGenerator<Buffer> {
    let bytes = 0
    for await (const part of body) {
      bytes += part.byteLength
      if (bytes > maxBytes) throw tooLarge(parse(url), maxBytes)
      yield part
    }
  }

  return {
    async get(url, limits) {
      try {
        const parts: Buffer[] = []
        for await (const part of counted(await openOk(url, limits), url, limits.maxBytes)) parts.push(part)
        return Buffer.concat(parts)
      } catch (error) {
        throw failureOf(error, url)
      }
    },
    async open(address, limits, headers = {}) {
      try {
        const { url, answer } = await follow(address, limits, headers)
        const { statusCode: status, body } = answer
        const hasContent = status === 200 || status === 206
        if (!hasContent) drop(answer)
        if (hasContent && Number(answer.headers['content-length'] ?? 0) > limits.maxBytes) {
          drop(answer)
          throw tooLarge(url, limits.maxBytes)
        }
        async function* content(): AsyncGenerator<Uint8Array> {
          try {
            if (hasContent) yield* counted(body, url.href, limits.maxBytes)
          } catch (error) {
            limits.signal?.throwIfAborted()
            throw failureOf(error, url.href)
          }
        }
        return { url: url.href, status, headers: answer.headers, body: content(), discard: () => drop(answer) }
      } catch (error) {
        limits.signal?.throwIfAborted()
        throw failureOf(error, address)
      }
    },
    async download(url, toPath, limits) {
      try {
        const body = await openOk(url, limits)
        await pipeline(counted(body, url, limits.maxBytes), createWriteStream(toPath, { flags: 'wx', mode: 0o600 }))
      } catch (error) {
        await rm(toPath, { force: true })
        throw failureOf(error, url)
      }
    },
    async post(address, body, headers, timeoutMs) {
      try {
        const url = parse(address)
        check(url)
        const answer = await traced('POST', url, () =>
          request(url, {
            dispatcher,
            method: 'POST',
            body,
            // The receiver of events may be part of the same system. Repositories of others learn nothing about our traces.
            headers: { ...headers, ...traceHeaders() },
            signal: AbortSignal.timeout(timeoutMs),
            headersTimeout: timeoutMs,
            bodyTimeout: timeoutMs,
          }),
        )
        drop(answer)
        if (answer.statusCode < 200 || answer.statusCode > 299)
          throw new HttpError('status', `${url.host} answered ${answer.statusCode}`, {
            status: answer.statusCode,
            retryAfterMs: retryAfterMs(answer.headers['retry-after']),
          })
        return answer.statusCode
      } catch (error) {
        throw failureOf(error, address)
      }
    },
    async exchange(address, { method, headers, body }, { maxBytes, timeoutMs, signal: stop }) {
      try {
        const url = parse(address)
        check(url)
        const timeout = AbortSignal.timeout(timeoutMs)
        const signal = stop ? AbortSignal.any([timeout, stop]) : timeout
        const answer = await request(url, {
          dispatcher,
          method,
          headers,
          signal,
          headersTimeout: timeoutMs,
          bodyTimeout: timeoutMs,
          ...(body === undefined ? {} : { body }),
        })
        const parts: Buffer[] = []
        for await (const part of counted(answer.body, address, maxBytes)) parts.push(part)
        return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts) }
      } catch (error) {
        throw failureOf(error, address)
      }
    },
    close: () => dispatcher.close(),
  }
}

/** Whether a redirect gives up the encryption that the address promised. apt refuses it too. */
export function isDowngrade(from: URL, to: URL): boolean {
  return from.protocol === 'https:' && to.protocol !== 'https:'
}

const withoutCredential = ({ authorization: _, ...others }: Readonly<Record<string, string>>) => others

/** Closes the connection of a body that nobody reads. */
function drop({ body }: Dispatcher.ResponseData): void {
  body.on('error', () => {}).destroy()
}

function parse(url: string): URL {
  try {
    return new URL(url)
  } catch {
    throw new HttpError('forbidden_target', 'the address is not a URL')
  }
}
