// Streams long lists page by page, as fast as the client reads.
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** Answers `{...head, [key]: [...], total}`. The head is written in one piece and must be short. */
export function sendList(
  reply: FastifyReply,
  head: Record<string, unknown>,
  key: string,
  pages: AsyncIterable<readonly unknown[]>,
): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(Readable.from(textOf(head, key, pages)))
}

async function* textOf(
  head: Record<string, unknown>,
  key: string,
  pages: AsyncIterable<readonly unknown[]>,
): AsyncGenerator<string> {
  const fields = Object.entries(head).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`)
  yield `{${fields.join('')}${JSON.stringify(key)}:[`
  let total = 0
  for await (const items of pages) {
    if (items.length === 0) continue
    yield (total > 0 ? ',' : '') + items.map((item) => JSON.stringify(item)).join(',')
    total += items.length
  }
  yield `],"total":${total}}`
}

/** Most characters of a text in a list. */
const SHORT = 300

/** The beginning of a text, for lists. */
export function shortened(text: string | null): string | null {
  // Cut between code points, never inside a surrogate pair.
  return text === null || text.length <= SHORT ? text : `${[...text.slice(0, SHORT)].slice(0, SHORT - 1).join('')}…`
}
