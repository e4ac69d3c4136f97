// A TCP forwarder in front of a server: a test makes the server unreachable, or freezes it, without touching its process.
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from '../ports.ts'

export interface Forwarder {
  port: number
  start(): Promise<void>
  /** Refuses connections, and breaks open ones. */
  stop(): Promise<void>
  /** Forwards nothing more in either direction: each side sees the other as frozen. */
  freeze(): void
  /** Freezes as soon as the client sends a matching statement, which is not forwarded either. */
  freezeAt(statement: RegExp): Promise<void>
  thaw(): void
}

export async function createForwarder(to: { host: string; port: number }): Promise<Forwarder> {
  const port = await freePort()
  const open = new Set<Socket>()
  let server: Server | null = null
  let isFrozen = false
  let trigger: { statement: RegExp; seen: () => void } | null = null

  /** True once: the bytes are kept for later. */
  function triggers(bytes: Buffer): boolean {
    if (!trigger?.statement.test(bytes.toString('latin1'))) return false
    forwarder.freeze()
    trigger.seen()
    trigger = null
    return true
  }

  function forward(near: Socket): void {
    const far = connect(to)
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from)
      from.on('error', () => into.destroy())
      from.on('close', () => {
        open.delete(from)
        into.destroy()
      })
      from.on('data', (bytes: Buffer) => {
        if (from === near && triggers(bytes)) from.unshift(bytes)
        else into.write(bytes)
      })
      if (isFrozen) from.pause()
    }
  }

  const forwarder: Forwarder = {
    port,
    async start() {
      server = createServer(forward).listen(port, '127.0.0.1')
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
    freeze() {
      isFrozen = true
      for (const socket of open) socket.pause()
    },
    freezeAt: (statement) => new Promise((seen) => (trigger = { statement, seen })),
    thaw() {
      isFrozen = false
      for (const socket of open) socket.resume()
    },
  }
  await forwarder.start()
  return forwarder
}
