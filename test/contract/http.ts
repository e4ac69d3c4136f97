// Sends one HTTP request exactly as written: no normalised paths, no followed redirects, any method.
import { request } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'

export interface Sent {
  method: string
  /** from the root, percent-encoded as it is sent */
  path: string
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** resolves after the headers of a success and drops the body, for answers that do not end */
  headOnly?: boolean
}

export interface Reply<T = Record<string, unknown>> {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** the parsed body; an empty object when it is not JSON */
  body: T
}

export function send<T = Record<string, unknown>>(
  port: number,
  { method, path, headers = {}, body, headOnly = false }: Sent,
): Promise<Reply<T>> {
  return new Promise((resolve, reject) => {
    const length =
      body === undefined || 'transfer-encoding' in headers ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const outgoing = request(
      { host: '127.0.0.1', port, method, path, headers: { ...length, ...headers }, agent: false },
      (incoming) => {
        const answer = (text: string) =>
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, body: parse(text) as T })
        if (headOnly && (incoming.statusCode ?? 0) < 400) {
          answer('')
          incoming.destroy()
          return
        }
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('end', () => answer(Buffer.concat(chunks).toString('utf8')))
        incoming.on('error', reject)
      },
    )
    outgoing.on('error', reject)
    // The server may answer before it has read the whole body. Then the answer counts, and not the broken pipe.
    outgoing.end(body)
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** A multipart form with its parts in the given order. A part with a filename is a file. */
export function form(parts: readonly { name: string; value: string | Uint8Array; filename?: string }[]): {
  body: Buffer
  headers: Record<string, string>
} {
  const boundary = 'contract-boundary-7f3a'
  const pieces = parts.flatMap(({ name, value, filename }) => [
    Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"\r\ncontent-type: application/octet-stream`}\r\n\r\n`,
    ),
    Buffer.from(value as string),
    Buffer.from('\r\n'),
  ])
  return {
    body: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  }
}

/** The name and `data` of each server-sent event. Unnamed events are called `message`. */
export function eventsOf(text: string): { event: string; data: string }[] {
  return text.split('\n\n').flatMap((block) => {
    const field = (name: string) =>
      block
        .split('\n')
        .find((line) => line.startsWith(`${name}: `))
        ?.slice(name.length + 2)
    const data = field('data')
    return data === undefined ? [] : [{ event: field('event') ?? 'message', data }]
  })
}
