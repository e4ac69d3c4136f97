// `ETag` and `If-Match` for what people edit: a change is refused when somebody else made one since it was read.
// https://www.rfc-editor.org/rfc/rfc9110#section-13.1.1
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../domain/problem.ts'
import { sha256Hex } from '../../kernel/crypto.ts'

type Document = Record<string, unknown>

/** Sends the document's state as `ETag`; the next change names it in `If-Match`. */
export function tagged<T>(reply: Pick<FastifyReply, 'header'>, state: string | number, document: T): T {
  reply.header('etag', tagOf(state))
  return document
}

/** The state of a document that is made of some of its keys. What the service itself changes, such as a last login, is no edit. */
export function stateOf(document: Document, keys: readonly string[]): string {
  return sha256Hex(JSON.stringify(keys.map((key) => document[key] ?? null))).slice(0, 32)
}

/** Sends the state of an answer that is such a document; others, such as that of a deletion, have none. */
export function tagEdited(reply: Pick<FastifyReply, 'header'>, body: unknown, keys: readonly string[]): void {
  if (typeof body === 'object' && body !== null && keys.every((key) => key in body))
    tagged(reply, stateOf(body as Document, keys), body)
}

/** @throws Problem('changed_meanwhile') with the present values as `current`, when the request names another state */
export function requireUnchanged(
  request: Pick<FastifyRequest, 'headers'>,
  before: object,
  keys: readonly string[],
): void {
  const document = before as Document
  requireMatch(request, stateOf(document, keys), {
    current: Object.fromEntries(keys.map((key) => [key, document[key] ?? null])),
  })
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
