// Outbound HTTP that cannot be led into the inner network: addresses are checked at connect time, redirects one by one.
//
// undici's interceptor for redirects (8.13) is not used. It reads the whole body of a redirect (210 MB where ours left after 4),
// also follows 300, and does not show one hop to the check of the next, so https could lead to http. Its interceptors for retries
// and DNS would replace no code: nothing here is retried, and `lookup` resolves names.
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Agent, EnvHttpProxyAgent, request, type Dispatcher } from 'undici'
import { isForbidden, isForbiddenHost } from './forbidden-addresses.ts'
import { retryAfterMs } from './retry-after.ts'
import { trace, traceHeaders, type Attributes } from './trace.ts'

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

/** A failure whose message may be shown to clients: it names no inner address except the one that the caller requested. */
export class HttpError extends Error {
  readonly reason: 'forbidden_target' | 'unreachable' | 'status' | 'too_large' | 'timeout'
  /** the status received, where the reason is `status` */
  readonly status: number | undefined
  /** how long the receiver of a `post` asks the sender to wait */
  readonly retryAfterMs: number | null
  constructor(
    reason: HttpError['reason'],
    message: string,
    options?: ErrorOptions & { status?: number; retryAfterMs?: number | null },
  ) {
    super(message, options)
    this.reason = reason
    this.status = options?.status
    this.retryAfterMs = options?.retryAfterMs ?? null
  }
}

const REDIRECTS = 5
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308])

/**
 * @param allowPrivate allows loopback and private addresses; link-local and metadata addresses are always refused
 * @param allowedHosts names and addresses that are allowed although they are private
 * @param proxy used for http and https, except for the hosts in `except` (syntax of `NO_PROXY`); it resolves the names
 */
export function createHttpClient(options: {
  allowPrivate: boolean
  allowedHosts?: readonly string[]
  proxy?: { http: string | null; https: string | null; except: string | null }
}): HttpClient {
  const { allowedHosts = [], proxy } = options
  const mayBePrivate = (host: string) => options.allowPrivate || allowedHosts.includes(host.toLowerCase())

  const guarded = (
    host: string,
    asked: LookupOptions,
    done: (error: Error | null, address: string | LookupAddress[], family?: number) => void,
  ): void => {
    lookup(host, { ...asked, all: true }, (error, addresses) => {
      if (error) {
        done(error, [])
        return
      }
      // A forbidden address among allowed ones is an attack on this check, so the name is refused.
      if (addresses.some(({ address }) => isForbidden(address, mayBePrivate(host)))) {
        done(forbidden(host), [])
        return
      }
      if (asked.all) {
        done(null, addresses)
        return
      }
      done(null, addresses[0]?.address ?? '', addresses[0]?.family ?? 4)
    })
  }
  const connect = { lookup: guarded as never, timeout: 10_000 }
  // A second protocol would be a second parser of untrusted data; apt, dnf and apk also use HTTP/1.1.
  const allowH2 = false
  const dispatcher: Dispatcher =
    proxy?.http || proxy?.https
      ? new EnvHttpProxyAgent({
          ...{ connect, allowH2 },
          noProxy: proxy.except ?? '',
          ...(proxy.http ? { httpProxy: proxy.http } : {}),
          ...(proxy.https ? { httpsProxy: proxy.https } : {}),
        })
      : new Agent({ connect, allowH2 })

  /** Checks a literal address here, because it is never resolved. */
  function check(url: URL): void {
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw forbidden(url.href)
    const host = url.hostname.replace(/^\[|\]$/g, '')
    if (isForbiddenHost(host, mayBePrivate(host))) throw forbidden(host)
  }

  /** Follows redirects, each checked like the first address. */
  async function follow(
    address: string,
    { timeoutMs, idleMs = timeoutMs, signal: stop }: HttpLimits,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ url: URL; answer: Dispatcher.ResponseData }> {
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = stop ? AbortSignal.any([timeout, stop]) : timeout
    let url = parse(address)
    for (let hop = 0; hop <= REDIRECTS; hop++) {
      check(url)
      const at = url
      const answer = await traced('GET', at, () =>
        request(at, { dispatcher, signal, headers, headersTimeout: idleMs, bodyTimeout: idleMs }),
      )
      const { location } = answer.headers
      if (!REDIRECT_STATUSES.has(answer.statusCode) || typeof location !== 'string') return { url, answer }
      drop(answer)
      const next = new URL(location, url)
      if (isDowngrade(url, next)) throw new HttpError('forbidden_target', `${url.host} leads from https to http`)
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
        return { status, headers: answer.headers, body: content(), discard: () => drop(answer) }
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

/** The span ends with the header of the answer. Its attributes name only the host: paths and queries may contain secrets. */
function traced(
  method: 'GET' | 'POST',
  url: URL,
  send: () => Promise<Dispatcher.ResponseData>,
): Promise<Dispatcher.ResponseData> {
  const attributes: Attributes = {
    'http.request.method': method,
    'server.address': url.hostname,
    'server.port': Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
  }
  return trace(
    method,
    attributes,
    async (seen) => {
      const answer = await send()
      seen['http.response.status_code'] = answer.statusCode
      return answer
    },
    { isPart: true, kind: 'client' },
  )
}

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

function forbidden(host: string): HttpError {
  return new HttpError('forbidden_target', `${host} is not a public address: the request is refused`)
}

function tooLarge(url: URL, maxBytes: number): HttpError {
  return new HttpError('too_large', `${url.host} sent more than ${maxBytes} bytes`)
}

function failureOf(error: unknown, url: string): HttpError {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof HttpError) return cause
  const { name, code, message } = error as NodeJS.ErrnoException
  const host = URL.canParse(url) ? new URL(url).host : 'the address'
  if (name === 'TimeoutError' || /TIMEOUT/.test(code ?? ''))
    return new HttpError('timeout', `${host} did not answer in time`, { cause: error })
  return new HttpError('unreachable', `${host} could not be read: ${code ?? message}`, { cause: error })
}
