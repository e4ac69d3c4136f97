// A server of somebody else on loopback, which keeps what it is asked, and can lie about every path and let everybody wait.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

export interface LyingServer {
  url: string
  /** paths that were asked for */
  asked: string[]
  /** the credentials that came with them */
  credentials: (string | undefined)[]
  /** answers a path, without its first slash, in another way */
  lie(path: string, answer: Answer): void
  /** every request waits until this is resolved */
  holdUntil(released: Promise<void>): void
  close(): Promise<void>
}

/** @param honest answers a path that there is no lie about */
export async function startLyingServer(
  honest: (path: string, request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<LyingServer> {
  const lies = new Map<string, Answer>()
  const asked: string[] = []
  const credentials: (string | undefined)[] = []
  let released = Promise.resolve()

  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1)
    asked.push(path)
    credentials.push(request.headers.authorization)
    void released.then(() => {
      const lie = lies.get(path)
      if (lie) lie(request, response)
      else honest(path, request, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    ...{ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, credentials },
    lie: (path, answer) => void lies.set(path, answer),
    holdUntil: (until) => void (released = until),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
