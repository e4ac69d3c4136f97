// Files of a repository over HTTP: conditional requests, ranges, and which failures are temporary.
import { refused, type PathRules } from '../formats/catalog.ts'
import type { HttpAnswer, HttpClient } from '../kernel/http-client.ts'
import { HttpError } from '../kernel/http-error.ts'
import { retryAfterMs } from '../kernel/retry-after.ts'
import { urlBelow, urlElsewhere } from './paths.ts'
import { problemOf } from './problems.ts'
import { Interrupted, type Ask, type OpenedFile, type Transport, type Validator } from './transport.ts'

/** A transfer may pause for this long. */
const IDLE_MS = 30_000
/** A transfer may take a minute, plus the time of its bytes at 20 KB/s. */
const LEAST_BYTES_PER_MS = 20
const MOST_MS = 4 * 3600_000
/** Temporary answers, which a later request may not get: RFC 9110, section 15.5.9 and 15.6; RFC 6585, section 4. */
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504])

/**
 * @param base URL of the repository
 * @param rules for the paths in its indexes
 */
export function createHttpTransport(base: string, http: Pick<HttpClient, 'open'>, rules: PathRules): Transport {
  const transport = createTransport(new URL(base).host, (path) => urlBelow(base, path, rules.pathsAreEncoded), http)
  if (!rules.mayBeElsewhere) return transport
  const at = (path: string) => createDocumentTransport(urlElsewhere(base, path), http)
  return { ...transport, elsewhere: { base, at } }
}

/** A single document, such as a metalink: the path is only its name in sentences. */
export function createDocumentTransport(url: string, http: Pick<HttpClient, 'open'>): Transport {
  return createTransport(new URL(url).host, () => url, http)
}

function createTransport(host: string, urlOf: (path: string) => string, http: Pick<HttpClient, 'open'>): Transport {
  return {
    name: host,
    async open(path, ask) {
      const timeoutMs = Math.min(MOST_MS, 60_000 + Math.ceil(ask.mostBytes / LEAST_BYTES_PER_MS))
      // A body may have exactly the most bytes, followed by its end.
      const limits = { maxBytes: ask.mostBytes, timeoutMs, idleMs: IDLE_MS }
      try {
        return interpret(path, ask, await http.open(urlOf(path), limits, headersOf(ask)), host)
      } catch (error) {
        throw passing(error)
      }
    },
  }
}

function headersOf({ known, resume }: Ask): Record<string, string> {
  // Sizes and digests are those of the file, so the transfer must not be encoded.
  const headers: Record<string, string> = { 'accept-encoding': 'identity' }
  if (known?.etag) headers['if-none-match'] = known.etag
  if (known?.lastModified) headers['if-modified-since'] = known.lastModified
  const validator = resume && rangeValidator(resume.validator)
  if (resume && validator) {
    headers['range'] = `bytes=${resume.at}-`
    headers['if-range'] = validator
  }
  return headers
}

/** RFC 9110, section 13.1.5: weak entity tags cannot be used. */
function rangeValidator({ etag, lastModified }: Validator): string | null {
  return etag && !etag.startsWith('W/') ? etag : lastModified
}

function interpret(
  path: string,
  { resume }: Ask,
  answer: HttpAnswer,
  host: string,
): OpenedFile | 'missing' | 'unchanged' {
  const { status, headers } = answer
  const text = (name: string) => (typeof headers[name] === 'string' ? headers[name] : null)
  if (status === 304) return 'unchanged'
  if (status === 404 || status === 410) return 'missing'
  if (status === 200 || (status === 206 && resume)) {
    const startsAt = status === 200 ? 0 : Number(/^bytes ([0-9]{1,15})-/.exec(text('content-range') ?? '')?.[1])
    if (startsAt === 0 || startsAt === resume?.at) {
      const validator = { etag: text('etag'), lastModified: text('last-modified') }
      return { startsAt, validator, body: interruptible(answer.body) }
    }
    answer.discard()
    throw refused('malformed', `${host} answered another range of ${path} than was asked for`)
  }
  answer.discard()
  const problem = refused('status', `${host} answered ${status} for ${path}`)
  throw PASSING.has(status) ? new Interrupted(problem, retryAfterMs(text('retry-after'))) : problem
}

async function* interruptible(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    throw passing(error)
  }
}

function passing(error: unknown): unknown {
  const mayPass = error instanceof HttpError && (error.reason === 'unreachable' || error.reason === 'timeout')
  return mayPass ? new Interrupted(problemOf(error), null, error.reason === 'timeout' ? 3 : 1) : problemOf(error)
}
