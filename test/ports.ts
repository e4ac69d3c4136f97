// Ports of the loopback address for servers that tests start.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'

/** Pause after a port that refuses, in milliseconds, because callers repeat the question. */
const PAUSE_MS = 20

/** A port that nothing was listening on just now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Whether something listens on the port; false is returned after a pause. */
export function accepts(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => setTimeout(() => resolve(false), PAUSE_MS))
  })
}
