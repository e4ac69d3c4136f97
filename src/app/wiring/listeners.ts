// The ports: the API, the web console, and the repository listeners if this process runs them.
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { createConsole } from '../../console/console.ts'
import type { OwnReport } from '../../serve/own-report.ts'
import type { Foundation } from './foundation.ts'
import { openPort } from './ports.ts'
import type { Publishing } from './publishing.ts'
import { createRepositoryListeners, type RepositoryPorts } from './repository-listeners.ts'

export interface Ports extends RepositoryPorts {
  api: number
  console: number
}

export interface Listeners {
  /** @returns the ports in use */
  listen(): Promise<Ports>
  /** Accepts nothing new and gives open transfers at most `deadlineMs`. */
  close(deadlineMs: number): Promise<void>
}

/**
 * @param elsewhere where other processes listen for package clients; null when this one does
 * @param report counts what this process serves
 */
export async function createListeners(
  { env, clock, log, production, settings }: Foundation,
  { reachedAt }: Pick<Publishing, 'reachedAt'>,
  server: FastifyInstance,
  elsewhere: RepositoryPorts | null,
  report: OwnReport,
): Promise<Listeners> {
  const repositories = await createRepositoryListeners({ env, clock, log, report })
  const ports: Ports = { api: 0, console: 0, ...(elsewhere ?? { apt: 0, rpm: 0 }) }
  const console = createConsole({
    app: server,
    directory: fileURLToPath(new URL('../../../dist/web', import.meta.url)),
    trustedProxies: env.trustedProxies,
    appUrl: () => settings.current().app_url,
    production,
    version: env.appVersion,
    log,
  })

  return {
    async listen() {
      const host = env.bindHost
      const open = (name: string, port: number, listen: (port: number) => Promise<number>) =>
        openPort({ mode: env.mode, log }, name, port, listen)
      const listenApi = async (port: number) => Number(new URL(await server.listen({ port, host })).port)
      ports.api = await open('the API', env.backendPort, listenApi)
      if (!elsewhere) Object.assign(ports, await repositories.listen())
      reachedAt.ports = { apt: ports.apt, rpm: ports.rpm }
      ports.console = await open('the console', env.frontendPort, (port) => console.listen(port, host))
      return ports
    },
    async close(deadlineMs) {
      await Promise.all([server.close(), elsewhere ? null : repositories.close(deadlineMs), console.close(deadlineMs)])
    },
  }
}
