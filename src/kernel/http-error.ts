// Failures of outbound requests.

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

export function forbidden(host: string): HttpError {
  return new HttpError('forbidden_target', `${host} is not a public address: the request is refused`)
}

export function tooLarge(url: URL, maxBytes: number): HttpError {
  return new HttpError('too_large', `${url.host} sent more than ${maxBytes} bytes`)
}

/** @returns the HttpError among the causes of an error, or one that says what happened */
export function failureOf(error: unknown, url: string): HttpError {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof HttpError) return cause
  const { name, code, message } = error as NodeJS.ErrnoException
  const host = URL.canParse(url) ? new URL(url).host : 'the address'
  if (name === 'TimeoutError' || /TIMEOUT/.test(code ?? ''))
    return new HttpError('timeout', `${host} did not answer in time`, { cause: error })
  return new HttpError('unreachable', `${host} could not be read: ${code ?? message}`, { cause: error })
}
