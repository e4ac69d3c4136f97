// `Idempotency-Key`: a request that is sent again, because its answer was lost, is not carried out again.
// https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
import type { FastifyReply, FastifyRequest } from 'fastify'
import { invalidField, Problem } from '../../domain/problem.ts'
import { sha256Hex } from '../../kernel/crypto.ts'
import type { KeptAnswers, Running } from '../../store/kept-answers.ts'
import type { Route } from './route.ts'

/** Says that the answer is the one of an earlier request. */
export const REPLAYED = 'idempotency-replayed'
/** The headers of an answer that belong to what was made. */
const KEPT_HEADERS = ['x-package-status']

declare module 'fastify' {
  interface FastifyRequest {
    /** digest of a body that was read by the handler, where the request has an `Idempotency-Key` */
    bodyDigest: string | null
  }
}

/** @throws Problem('validation_error') for a header that is no key */
export function idempotencyKey({ headers }: Pick<FastifyRequest, 'headers'>): string | null {
  const given = headers['idempotency-key']
  if (given === undefined) return null
  // The draft has a quoted string; most clients send it bare.
  const key = /^"(.*)"$/.exec(String(given))?.[1] ?? String(given)
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalidField('Idempotency-Key', 'has 1 to 255 visible ASCII characters, without spaces')
  return key
}

/**
 * Answers the request, or gives the answer of the same request before it. Errors are not kept, so that the request can be
 * sent again once their cause is gone.
 * @param run carries the request out and returns the body
 * @throws Problem `idempotency_in_progress`, `idempotency_key_reused`, or what `run` throws
 */
export async function answerOnce(
  { request, reply, route }: { request: FastifyRequest; reply: FastifyReply; route: Route },
  kept: KeptAnswers,
  run: () => Promise<unknown>,
): Promise<unknown> {
  const key = idempotencyKey(request)
  const principal = request.caller?.principal
  if (key === null || principal === undefined) return run()
  const begun = await kept.begin(sha256Hex(`${principal}\0${key}`), principal)
  if (begun.state === 'new') return carriedOut({ request, reply }, begun.run, run)
  if (begun.state === 'running')
    throw new Problem('idempotency_in_progress', 'a request with this Idempotency-Key is being carried out')
  await route.digestBody?.(request)
  if (digestOf(request) !== begun.request)
    throw new Problem('idempotency_key_reused', 'this Idempotency-Key was used for another request')
  const { status, headers, body } = begun.answer
  reply.code(status).headers({ ...headers, [REPLAYED]: 'true' })
  return body
}

async function carriedOut(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  running: Running,
  run: () => Promise<unknown>,
): Promise<unknown> {
  let body: unknown
  try {
    body = await run()
  } catch (error) {
    await running.forget().catch(() => {})
    throw error
  }
  const headers = Object.fromEntries(
    KEPT_HEADERS.flatMap((name) => (reply.hasHeader(name) ? [[name, String(reply.getHeader(name))]] : [])),
  )
  try {
    await running.keep(digestOf(request), { status: reply.statusCode, headers, body })
  } catch (error) {
    // It was carried out, so the client must learn of it.
    request.log.warn({ err: error, request_id: request.id }, 'the answer could not be kept for its Idempotency-Key')
  }
  return body
}

function digestOf({ method, url, body, bodyDigest }: FastifyRequest): string {
  return sha256Hex(JSON.stringify([method, url, bodyDigest ?? body ?? null]))
}
