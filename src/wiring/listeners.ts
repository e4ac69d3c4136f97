// The ports: the API and the front page, and the repository listeners where this process runs them.
import type { FastifyInstance } from 'fastify'
import { createFrontPage } from '../serve/front-page.ts'
import type { Foundation } from './foundation.ts'
import { openPort } from './ports.ts'
import type { Publishing } from './publishing.ts'
import { createRepositoryListeners, type RepositoryPorts } from './repository-listeners.ts'

export interface Ports extends RepositoryPorts {
  api: number
  front: number
}

export interface Listeners {
  /** @returns the ports in use */
  listen(): Promise<Ports>
  /** Accepts nothing new and gives open transfers at most `deadlineMs`. */
  close(deadlineMs: number): Promise<void>
}

/** @param elsewhere where other processes listen for package clients; null when this one does */
export async function createListeners(
  { env, clock, log, production }: Foundation,
  { keys }: Publishing,
  server: FastifyInstance,
  elsewhere: RepositoryPorts | null,
): Promise<Listeners> {
  const repositories = await createRepositoryListeners({ env, clock, log })
  const ports: Ports = { api: 0, front: 0, ...(elsewhere ?? { apt: 0, rpm: 0 }) }
  const front = createFrontPage(() => ({
    version: env.appVersion,
    fingerprint: keys.openpgp.fingerprint,
    documentation: !production,
    addresses: (host) => ({
      api: `http://${host}:${ports.api}`,
      apt: env.publicAptUrl ?? `http://${host}${ports.apt === 80 ? '' : `:${ports.apt}`}`,
      rpm: env.publicRpmUrl ?? `http://${host}:${ports.rpm}`,
    }),
    setups: repositories.setups,
  }))

  return {
    async listen() {
      const host = env.bindHost
      const open = (name: string, port: number, listen: (port: number) => Promise<number>) =>
        openPort({ mode: env.mode, log }, name, port, listen)
      const listenApi = async (port: number) => Number(new URL(await server.listen({ port, host })).port)
      ports.api = await open('the API', env.backendPort, listenApi)
      if (!elsewhere) Object.assign(ports, await repositories.listen())
      ports.front = await open('the front page', env.frontendPort, (port) => front.listen(port, host))
      return ports
    },
    async close(deadlineMs) {
      await Promise.all([server.close(), elsewhere ? null : repositories.close(deadlineMs), front.close()])
    },
  }
}
