// A proxy that changes responses on their way to the client, as an attacker on the network could.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Tamper = (path: string, body: Buffer) => Buffer

export interface TamperingProxy {
  url: string
  /** number of answers changed since the last `tamper` */
  readonly changed: number
  /** Sets the function that changes bodies. */
  tamper(change: Tamper): void
  close(): Promise<void>
}

/** @param target origin of the real repository */
export async function startTamperingProxy(target: string): Promise<TamperingProxy> {
  let change: Tamper = (_, body) => body
  let changed = 0
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? '/'
      const answer = await fetch(target + path)
      const body = Buffer.from(await answer.arrayBuffer())
      const shown = answer.ok ? change(path, body) : body
      if (!shown.equals(body)) changed++
      response.writeHead(answer.status, {
        'content-length': shown.byteLength,
        'last-modified': answer.headers.get('last-modified') ?? '',
      })
      response.end(shown)
    })().catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get changed() {
      return changed
    },
    tamper(next) {
      change = next
      changed = 0
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Changes one byte, which only a digest or signature detects. */
export function flipByte(body: Buffer, at = body.length >> 1): Buffer {
  const shown = Buffer.from(body)
  shown[at] = (shown[at] as number) ^ 1
  return shown
}
