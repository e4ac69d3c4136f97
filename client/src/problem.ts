// Errors as values: refusals of the server, and failures to reach it.

/** A failure. `body` is the error body of the API, which has further keys beside `code` and `detail`. */
export interface Problem {
  /** a code of the API, or `network_error`, `certificate_error`, `wrong_protocol`, `unexpected_answer`, `redirected`, `no_credential`, `aborted` */
  code: string
  /** one sentence for people */
  detail: string
  /** HTTP status; null when there was no answer, or the failure occurred inside a stream */
  status: number | null
  /** from `Retry-After`; null without one */
  retryAfterMs: number | null
  requestId: string | null
  body: Record<string, unknown>
}

export type Result<T> = { ok: true; data: T; status: number; headers: Headers } | { ok: false; error: Problem }

/** A failure that did not come from the API. */
export function localProblem(code: string, detail: string, status: number | null = null): Problem {
  return { code, detail, status, retryAfterMs: null, requestId: null, body: { code, detail } }
}

/** The Problem for a value thrown by `fetch` or while its body is read. */
export function thrownProblem(error: unknown, signal: AbortSignal | undefined): Problem {
  if (signal?.aborted) return localProblem('aborted', 'interrupted')
  const { code = '' } = ((error as Error).cause ?? error) as { code?: string }
  // Another try cannot fix the first two.
  const kind = PROTOCOL.test(code) ? 'wrong_protocol' : CERTIFICATE.test(code) ? 'certificate_error' : 'network_error'
  return localProblem(kind, causeOf(error))
}

/** Node's codes for invalid certificates (https://nodejs.org/api/tls.html#x509-certificate-error-codes). */
const CERTIFICATE = /CERT|CRL|SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)|INVALID_CA|ERR_TLS/

/** One side speaks TLS and the other plain HTTP: OpenSSL's codes, and that of the command. */
const PROTOCOL = /^ERR_(SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)|TLS_NEEDED)$/

/** `fetch` says "fetch failed"; the reason is in its cause, and with several addresses there are several. */
function causeOf(error: unknown): string {
  const { message, cause, errors } = error as { message?: string; cause?: unknown; errors?: unknown[] }
  if (cause instanceof Error) return causeOf(cause)
  if (Array.isArray(errors) && errors.length > 0) return errors.map(causeOf).join('; ')
  return message && message.length > 0 ? message : 'the connection failed'
}

/** Reads the error body of an answer. */
export async function answeredProblem(response: Response): Promise<Problem> {
  const { status, headers } = response
  const text = await response.text().catch(() => '')
  const common = { status, retryAfterMs: retryAfterOf(headers), requestId: headers.get('x-request-id') }
  const body = parseObject(text)
  if (typeof body?.['code'] === 'string' && typeof body['detail'] === 'string')
    return { ...common, code: body['code'], detail: body['detail'], body }
  const detail = `the server answered ${status}${response.statusText ? ` ${response.statusText}` : ''}, and not as Gatehouse does`
  return { ...common, ...{ code: 'unexpected_answer', detail, body: { code: 'unexpected_answer', detail } } }
}

/** Seconds or a date (RFC 9110, section 10.2.3), in ms from now. */
export function retryAfterOf(headers: Headers, now = Date.now()): number | null {
  const text = headers.get('retry-after')?.trim()
  if (!text) return null
  if (/^\d+$/.test(text)) return Number(text) * 1000
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : Math.max(0, at - now)
}

export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
