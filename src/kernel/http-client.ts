// Outbound HTTP that cannot be led into the inner network: addresses are checked at connect time, redirects one by one.
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns'
import { BlockList, isIP } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Agent, EnvHttpProxyAgent, request, type Dispatcher } from 'undici'

export interface HttpLimits {
  maxBytes: number
  /** limit for the whole transfer */
  timeoutMs: number
}

export interface HttpClient {
  /** @throws HttpError when the target is forbidden, unreachable, too large, too slow, or answers with another status than 200 */
  get(url: string, limits: HttpLimits): Promise<Buffer>
  /** Writes the body to a new file, and removes that file when the transfer fails. */
  download(url: string, toPath: string, limits: HttpLimits): Promise<void>
  /**
   * Sends a body. @returns the status, 200 to 299
   * @throws HttpError as `get` does, and for a redirect: a body is never sent to a second host
   */
  post(url: string, body: string, headers: Record<string, string>, timeoutMs: number): Promise<number>
  close(): Promise<void>
}

/** A failure whose message may be shown to clients: it names no inner address except the one the caller asked for. */
export class HttpError extends Error {
  constructor(
    readonly reason: 'forbidden_target' | 'unreachable' | 'status' | 'too_large' | 'timeout',
    message: string,
    options?: ErrorOptions & { status?: number },
  ) {
    super(message, options)
    this.status = options?.status
  }
  /** the status that a `post` received */
  readonly status: number | undefined
}

const REDIRECTS = 5

const ranges = (list: [string, number, 'ipv4' | 'ipv6'][]) => {
  const blocked = new BlockList()
  for (const [address, prefix, family] of list) blocked.addSubnet(address, prefix, family)
  return blocked
}

/** RFC 6890: this host, private use, shared address space, link-local, multicast, reserved. */
const PRIVATE = ranges([
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['fc00::', 7, 'ipv6'],
  ['64:ff9b:1::', 48, 'ipv6'],
  ['::', 96, 'ipv6'],
  ['fec0::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
])
/** Metadata services of clouds, which hand out credentials: refused whatever else is allowed. */
const LINK_LOCAL = ranges([
  ['169.254.0.0', 16, 'ipv4'],
  ['fe80::', 10, 'ipv6'],
  ['fd00:ec2::', 32, 'ipv6'],
  // NAT64, 6to4 and Teredo lead to any IPv4 address.
  ['64:ff9b::', 96, 'ipv6'],
  ['2002::', 16, 'ipv6'],
  ['2001::', 32, 'ipv6'],
  ['100.100.100.200', 32, 'ipv4'],
  ['168.63.129.16', 32, 'ipv4'],
  ['192.0.0.192', 32, 'ipv4'],
])

/** Turns an IPv4 address written as IPv6 (`::ffff:a.b.c.d`, NAT64) into the IPv4 address. */
export function isForbidden(address: string, allowPrivate: boolean): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  if (LINK_LOCAL.check(address, family)) return true
  return !allowPrivate && PRIVATE.check(address, family)
}

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
      // A forbidden address among allowed ones is an attack on this check: the name is refused.
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
  const dispatcher: Dispatcher =
    proxy?.http || proxy?.https
      ? new EnvHttpProxyAgent({
          connect,
          noProxy: proxy.except ?? '',
          ...(proxy.http ? { httpProxy: proxy.http } : {}),
          ...(proxy.https ? { httpsProxy: proxy.https } : {}),
        })
      : new Agent({ connect })

  /** A literal address is never resolved, so it is checked here. */
  function check(url: URL): void {
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw forbidden(url.href)
    const host = url.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) && isForbidden(host, mayBePrivate(host))) throw forbidden(host)
  }

  async function open(address: string, { timeoutMs, maxBytes }: HttpLimits): Promise<Readable> {
    const signal = AbortSignal.timeout(timeoutMs)
    let url = parse(address)
    for (let hop = 0; hop <= REDIRECTS; hop++) {
      check(url)
      const answer = await request(url, { dispatcher, signal, headersTimeout: timeoutMs, bodyTimeout: timeoutMs })
      const { statusCode: status, headers, body } = answer
      if (status === 200 && !(Number(headers['content-length'] ?? 0) > maxBytes)) return body
      body.on('error', () => {}).destroy()
      if (status === 200) throw tooLarge(url, maxBytes)
      const { location } = headers
      if (status < 300 || status > 399 || typeof location !== 'string')
        throw new HttpError('status', `${url.host} answered ${status}`)
      url = new URL(location, url)
    }
    throw new HttpError('status', `${url.host} sent too many redirects`)
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
        for await (const part of counted(await open(url, limits), url, limits.maxBytes)) parts.push(part)
        return Buffer.concat(parts)
      } catch (error) {
        throw failureOf(error, url)
      }
    },
    async download(url, toPath, limits) {
      try {
        const body = await open(url, limits)
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
        const answer = await request(url, {
          dispatcher,
          method: 'POST',
          body,
          headers,
          signal: AbortSignal.timeout(timeoutMs),
          headersTimeout: timeoutMs,
          bodyTimeout: timeoutMs,
        })
        answer.body.on('error', () => {}).destroy()
        if (answer.statusCode < 200 || answer.statusCode > 299)
          throw new HttpError('status', `${url.host} answered ${answer.statusCode}`, { status: answer.statusCode })
        return answer.statusCode
      } catch (error) {
        throw failureOf(error, address)
      }
    },
    close: () => dispatcher.close(),
  }
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
