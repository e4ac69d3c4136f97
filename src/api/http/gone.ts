// A signal that aborts when the client of a request is gone.
import type { FastifyReply } from 'fastify'

/** Aborts when the connection closes before the answer. It also aborts after the answer, when nothing listens. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  return gone.signal
}
