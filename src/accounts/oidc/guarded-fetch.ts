// `fetch` for OpenID libraries over our guarded client: no private addresses, no redirects, bounded answers.
import type { HttpClient } from '../../kernel/http-client.ts'
import { HttpError } from '../../kernel/http-error.ts'

/** Discovery documents and key sets of large providers have 20 KB. */
const MAX_BYTES = 512 * 1024
const TIMEOUT_MS = 10_000
/** The Fetch standard allows no body with these. */
const WITHOUT_BODY = new Set([204, 205, 304])

export type GuardedFetch = (
  url: string,
  sent: {
    method: string
    headers: Headers | Record<string, string>
    body?: string | URLSearchParams | null
    signal?: AbortSignal | undefined
  },
) => Promise<Response>

/** @param httpsOnly plain http is refused, in production */
export function createGuardedFetch(http: Pick<HttpClient, 'exchange'>, httpsOnly: boolean): GuardedFetch {
  return async (url, { method, headers, body, signal }) => {
    if (httpsOnly && !/^https:/i.test(url))
      throw new HttpError('forbidden_target', `the address of an identity provider must be https: ${url}`)
    const answer = await http.exchange(
      url,
      {
        method: method === 'POST' ? 'POST' : 'GET',
        headers: Object.fromEntries(new Headers(headers)),
        ...(body === undefined || body === null ? {} : { body: body.toString() }),
      },
      { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, ...(signal ? { signal } : {}) },
    )
    if (answer.status < 200 || answer.status > 599)
      throw new HttpError('status', `${new URL(url).host} answered ${answer.status}`, { status: answer.status })
    const told = ['content-type', 'www-authenticate'].flatMap((name): [string, string][] =>
      typeof answer.headers[name] === 'string' ? [[name, answer.headers[name]]] : [],
    )
    const content = WITHOUT_BODY.has(answer.status) ? null : new Uint8Array(answer.body)
    return new Response(content, { status: answer.status, headers: told })
  }
}

/** The failed request that an error of a library came from; null when the provider answered. */
export function requestFailure(error: unknown): HttpError | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof HttpError) return cause
  return null
}
