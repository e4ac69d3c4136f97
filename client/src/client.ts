// The client: one function for every endpoint of the API, with its types, and readers of streams.
import { attempts, createPace, type AttemptDeps, type Retry } from './attempts.ts'
import type { ServerEvent } from './events.ts'
import { followEvents, type EventsOptions } from './follow.ts'
import type { Operations } from './operations.ts'
import { answeredProblem, localProblem, thrownProblem, type Result } from './problem.ts'
import type { Opened, Transport } from './transport.ts'
import { sendUpload, type UploadAnswer, type UploadOptions } from './upload.ts'

/** `METHOD /path` from the API's declaration, without `/api/v1`. */
export type Endpoint = keyof Operations
export type AnswerOf<E extends Endpoint> = Operations[E]['answer']

/** A key that may be omitted when all its parts may. */
type Part<Name extends string, T> = [T] extends [undefined]
  ? Partial<Record<Name, undefined>>
  : object extends T
    ? Partial<Record<Name, T>>
    : undefined extends T
      ? Partial<Record<Name, T>>
      : Record<Name, T>

export interface CallOptions {
  signal?: AbortSignal | undefined
  headers?: Record<string, string>
}

export type Call<E extends Endpoint> = Part<'params', Operations[E]['params']> &
  Part<'query', Operations[E]['query']> &
  Part<'body', Operations[E]['body']> &
  CallOptions

type Arguments<E extends Endpoint> = object extends Call<E> ? [call?: Call<E>] : [call: Call<E>]

export interface ClientOptions {
  /** address of the service, with or without `/api/v1` at its end */
  url: string
  /**
   * A session or an API token; null sends none, as for cookies. A function is called for each request, and again after
   * a 401, because a session may have been renewed while the request was running.
   */
  token?: string | null | (() => string | null | Promise<string | null>)
  /** another `fetch`, for proxies or certificates */
  fetch?: typeof fetch
  headers?: Record<string, string>
  /** called before each wait for another try */
  onRetry?: (retry: Retry) => void
  /** from 0 to 1, for tests */
  random?: () => number
}

export interface Client {
  readonly url: string
  /** Calls an endpoint and reads its JSON. Retries by the rules of the README. Never throws because of the server's answer. */
  call<E extends Endpoint>(endpoint: E, ...call: Arguments<E>): Promise<Result<AnswerOf<E>>>
  /** The same for files and streams: returns the answer unread. */
  open<E extends Endpoint>(endpoint: E, ...call: Arguments<E>): Promise<Opened>
  /** Calls any path that the types do not contain. */
  request(
    method: string,
    path: string,
    call?: CallOptions & { query?: Record<string, unknown>; body?: unknown },
  ): Promise<Opened>
  /** Follows a stream of events; reconnects with `Last-Event-ID`. */
  events(path: string, options?: EventsOptions): AsyncGenerator<Result<ServerEvent>>
  /** Sends a package file, with progress. */
  upload(options: UploadOptions): Promise<Result<UploadAnswer>>
}

const SAFE = new Set(['GET', 'HEAD', 'PUT', 'DELETE'])
/** Paths that are not below /api/v1. */
const AT_ROOT = /^\/(health|metrics|webhooks|cli)(\/|$)/

export function createClient(options: ClientOptions): Client {
  const url = options.url.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
  const fetcher = options.fetch ?? fetch
  const { token: given = null } = options
  const tokenOf = typeof given === 'function' ? given : () => given
  const refused = new Set<string>()
  const deps: AttemptDeps = {
    pace: createPace(),
    random: options.random ?? Math.random,
    onRetry: options.onRetry,
    async hasAnother() {
      try {
        const token = await tokenOf()
        return token !== null && !refused.has(token)
      } catch {
        return false
      }
    },
  }

  const transport: Transport = {
    deps,
    async send(method, path, init) {
      let token: string | null
      try {
        token = await tokenOf()
      } catch (error) {
        return { ok: false, error: localProblem('no_credential', (error as Error).message) }
      }
      try {
        const headers = new Headers({ ...options.headers, ...(init.headers as Record<string, string> | undefined) })
        if (token) headers.set('authorization', `Bearer ${token}`)
        const at = `${url}${AT_ROOT.test(path) || path.startsWith('/api/') ? '' : '/api/v1'}${path}`
        const response = await fetcher(at, { ...init, method, headers, redirect: 'manual' })
        if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
          const to = response.headers.get('location')
          await response.body?.cancel()
          const where = to ? ` to ${new URL(to, at).origin}` : ''
          return {
            ok: false,
            error: localProblem('redirected', `the server redirects${where}; use that address`, response.status),
          }
        }
        if (response.status === 401 && token) refused.add(token)
        if (!response.ok) return { ok: false, error: await answeredProblem(response) }
        return { ok: true, data: response, status: response.status, headers: response.headers }
      } catch (error) {
        return { ok: false, error: thrownProblem(error, init.signal ?? undefined) }
      }
    },
  }

  const request: Client['request'] = (method, path, { signal, headers, query, body } = {}) => {
    const init = {
      ...(signal ? { signal } : {}),
      headers: {
        accept: 'application/json',
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }
    const again = { repeatable: SAFE.has(method) || new Headers(headers).has('idempotency-key'), signal }
    return attempts(() => transport.send(method, `${path}${queryOf(query)}`, init), again, deps)
  }

  const open = (endpoint: Endpoint, call: AnyCall = {}) => {
    const [method = 'GET', template = '/'] = endpoint.split(' ')
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(call.params?.[name])))
    return request(method, path, call)
  }

  return {
    url,
    request,
    open: (endpoint, ...[call]) => open(endpoint, call as AnyCall | undefined),
    async call(endpoint, ...[given]) {
      const opened = await open(endpoint, given as AnyCall | undefined)
      if (!opened.ok) return opened
      try {
        return { ...opened, data: (await opened.data.json()) as never }
      } catch (error) {
        return { ok: false, error: thrownProblem(error, (given as AnyCall | undefined)?.signal) }
      }
    },
    events: (path, eventOptions = {}) => followEvents(transport, path, eventOptions),
    upload: (upload) => sendUpload(transport, upload),
  }
}

interface AnyCall extends CallOptions {
  params?: Record<string, string | number>
  query?: Record<string, unknown>
  body?: unknown
}

function queryOf(query: Record<string, unknown> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  const text = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString()
  return text ? `?${text}` : ''
}
