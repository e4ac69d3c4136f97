// Reads server-sent events (WHATWG HTML, section 9.2.6) from the bytes of an answer.

export interface ServerEvent {
  /** `message` where the server gives no name */
  event: string
  /** parsed if it is JSON, otherwise the text */
  data: unknown
  /** id of this event, or of the last one with an id; empty before the first */
  id: string
}

/** Accepts text in pieces of any size. */
export interface EventParser {
  /** @returns the events that are now complete */
  push(text: string): ServerEvent[]
  readonly lastId: string
  /** ms that the server wants between connections; null when it stated none */
  readonly retryMs: number | null
}

export function createEventParser(lastId = ''): EventParser {
  let rest = ''
  let isFirst = true
  let event = ''
  let data: string[] = []
  let retryMs: number | null = null

  function take(line: string): ServerEvent | null {
    if (line === '') {
      const made = data.length > 0 ? { event: event || 'message', data: valueOf(data.join('\n')), id: lastId } : null
      event = ''
      data = []
      return made
    }
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') event = value
    else if (field === 'data') data.push(value)
    else if (field === 'id' && !value.includes('\0')) lastId = value
    else if (field === 'retry' && /^\d+$/.test(value)) retryMs = Number(value)
    return null
  }

  return {
    push(text) {
      if (isFirst && text.length > 0) {
        isFirst = false
        text = text.replace(/^\uFEFF/, '')
      }
      rest += text
      const events: ServerEvent[] = []
      // A carriage return at the end may be the first half of a line end.
      for (let end: RegExpExecArray | null; (end = /\r\n|\n|\r(?!$)/.exec(rest));) {
        const made = take(rest.slice(0, end.index))
        rest = rest.slice(end.index + end[0].length)
        if (made) events.push(made)
      }
      return events
    },
    get lastId() {
      return lastId
    },
    get retryMs() {
      return retryMs
    },
  }
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/** The text of an answer as it arrives. @throws errors of reading */
export async function* textOf(response: Response): AsyncGenerator<string> {
  // Not `for await`: not every browser can iterate over a stream.
  const reader = response.body?.getReader()
  if (!reader) return
  const decoder = new TextDecoder()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
