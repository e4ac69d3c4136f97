// A client of an event stream, which reads in the background until the stream ends or it leaves.
import { eventsOf } from './contract/http.ts'

export interface OpenedStream {
  status: number
  headers: Headers
  ended(): boolean
  /** everything received so far */
  text(): string
  leave(): void
  /** the data of the events of one name, in order */
  events(name: string): Record<string, unknown>[]
  /** the ids of the events of one name, in order */
  ids(name: string): string[]
}

export async function openEventStream(
  url: string,
  token: string,
  headers: Record<string, string> = {},
): Promise<OpenedStream> {
  const leaving = new AbortController()
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, ...headers },
    signal: leaving.signal,
  })
  const state = { text: '', ended: false }
  const reading = (async () => {
    for await (const bytes of response.body!) state.text += Buffer.from(bytes as Uint8Array).toString('utf8')
  })()
  void reading.catch(() => {}).finally(() => (state.ended = true))
  return {
    status: response.status,
    headers: response.headers,
    ended: () => state.ended,
    text: () => state.text,
    leave: () => leaving.abort(),
    events: (name) =>
      eventsOf(state.text)
        .filter(({ event }) => event === name)
        .map(({ data }) => JSON.parse(data) as Record<string, unknown>),
    ids: (name) =>
      [...state.text.matchAll(/id: (\S+)\nevent: (\w+)/g)].flatMap(([, id, of]) => (of === name ? [id!] : [])),
  }
}
