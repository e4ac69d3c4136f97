// `If-Match` for documents that people edit: a change is refused when somebody else changed the document since it was read.
// https://www.rfc-editor.org/rfc/rfc9110#section-13.1.1
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../domain/problem.ts'

/** Sends the document's state as `ETag`; the next change names it in `If-Match`. */
export function tagged<T>(reply: Pick<FastifyReply, 'header'>, state: string | number, document: T): T {
  reply.header('etag', tagOf(state))
  return document
}

/**
 * @param about who changed it last, for the person whose change is refused
 * @throws Problem('changed_meanwhile') when the request names another state; a request without the header is never refused
 */
export function requireMatch(
  { headers }: Pick<FastifyRequest, 'headers'>,
  state: string | number,
  about: Record<string, unknown>,
): void {
  const given = headers['if-match']
  if (given === undefined || given.trim() === '*') return
  // Compressing proxies make a tag weak; it still names the same state.
  const tags = given.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  if (!tags.includes(tagOf(state)))
    throw new Problem('changed_meanwhile', 'somebody changed it since it was read; nothing was stored', {
      ...about,
      etag: tagOf(state),
    })
}

const tagOf = (state: string | number) => `"${state}"`
