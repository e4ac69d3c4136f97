// A TCP forwarder before a server, so that a test can take the server away without stopping it.
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from '../ports.ts'

export interface Forwarder {
  port: number
  start(): Promise<void>
  /** Refuses connections, and breaks those that are open. */
  stop(): Promise<void>
}

export async function createForwarder(to: { host: string; port: number }): Promise<Forwarder> {
  const port = await freePort()
  const open = new Set<Socket>()
  let server: Server | null = null
  const forwarder: Forwarder = {
    port,
    async start() {
      server = createServer((near) => {
        const far = connect(to)
        for (const [socket, other] of [
          [near, far],
          [far, near],
        ] as const) {
          open.add(socket)
          socket.on('error', () => other.destroy())
          socket.on('close', () => {
            open.delete(socket)
            other.destroy()
          })
          socket.pipe(other)
        }
      }).listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
    async stop() {
      const closing = server
      server = null
      if (!closing) return
      const closed = once(closing, 'close')
      closing.close()
      for (const socket of open) socket.destroy()
      await closed
    },
  }
  await forwarder.start()
  return forwarder
}
