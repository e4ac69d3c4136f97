// A proxy that ends or holds connections on request of a test, as balancers and networks do.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface CuttingProxy {
  url: string
  /** heads of the requests that clients sent, oldest first */
  requests: string[]
  /** everything that the service answered */
  answered(): string
  /** ends all open connections */
  cut(): void
  /** a request whose head matches is not passed on: its connection ends */
  refuse: RegExp | null
  /** the next request whose head matches loses its connection when its answer begins */
  cutAnswerTo: RegExp | null
  /** Holds the data of the next connection. @returns its beginning, and a function that releases it */
  holdNext(): { held: Promise<void>; release(): void }
  close(): void
}

/** @param target address of the service, which may be down for a while */
export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target)
  const open = new Set<Socket>()
  let answered = ''
  let hold: { arrived(): void; until: Promise<void> } | null = null

  const server = createServer((client) => {
    const service = connect(Number(port), hostname)
    const wait = hold
    hold = null
    let losesAnswer = false
    const end = () => {
      for (const socket of [client, service]) {
        open.delete(socket)
        socket.destroy()
      }
    }
    for (const socket of [client, service]) {
      open.add(socket)
      socket.on('error', end).on('close', end)
    }
    client.on('data', (bytes) => {
      const head = /^[A-Z]+ \/[^\r\n]* HTTP.*?\r\n\r\n/s.exec(bytes.toString('latin1'))?.[0]
      if (head) proxy.requests.push(head)
      if (head && proxy.refuse?.test(head)) {
        end()
        return
      }
      if (head && proxy.cutAnswerTo?.test(head)) {
        proxy.cutAnswerTo = null
        losesAnswer = true
      }
      wait?.arrived()
      if (wait) void wait.until.then(() => service.write(bytes))
      else service.write(bytes)
    })
    service.on('data', (bytes) => {
      answered += bytes.toString('latin1')
      if (losesAnswer) end()
      else client.write(bytes)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  const proxy: CuttingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    answered: () => answered,
    cut() {
      for (const socket of open) socket.destroy()
    },
    refuse: null,
    cutAnswerTo: null,
    holdNext() {
      let release!: () => void
      let arrived!: () => void
      const held = new Promise<void>((resolve) => (arrived = resolve))
      hold = { arrived, until: new Promise<void>((resolve) => (release = resolve)) }
      return { held, release }
    },
    close() {
      proxy.cut()
      server.close()
    },
  }
  return proxy
}
