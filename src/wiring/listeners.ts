// The ports: the API, the repository listeners that package clients use, and the front page.
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { createAccessLog } from '../serve/access-log.ts'
import { createFrontPage } from '../serve/front-page.ts'
import { createClientSetups, createSetupAnswer } from '../serve/client-setups.ts'
import { mountsOf } from '../serve/mounts.ts'
import { createTrust } from '../kernel/client-address.ts'
import { createRepositoryListener } from '../serve/repository-listener.ts'
import { formats } from '../formats/index.ts'
import type { ListenerId } from '../formats/serving.ts'
import type { Foundation } from './foundation.ts'
import type { Publishing } from './publishing.ts'

export interface Ports {
  api: number
  apt: number
  rpm: number
  front: number
}

export interface Listeners {
  /** @returns the ports in use */
  listen(): Promise<Ports>
  /** Accepts nothing new and gives open transfers at most `deadlineMs`. */
  close(deadlineMs: number): Promise<void>
}

export function createListeners(
  { env, clock, log, paths, production }: Foundation,
  { keys, active, activeFormats }: Publishing,
  server: FastifyInstance,
): Listeners {
  const setups = createClientSetups(active, {
    openpgpArmored: keys.openpgp.publicKeyArmored,
    apk: { name: keys.apk.keyName, pem: keys.apk.publicKeyPem },
  })
  const publicUrls: Record<ListenerId, string | null> = { apt: env.publicAptUrl, rpm: env.publicRpmUrl }
  const trusts = createTrust(env.trustedProxies)
  const repository = (id: ListenerId) =>
    createRepositoryListener({
      reposDir: paths.root,
      mounts: mountsOf(id, formats, activeFormats),
      clock,
      log,
      accessLog: createAccessLog({ path: join(paths.logs, `access-${id}.log`), clock, log }),
      setup: createSetupAnswer(id, setups, publicUrls[id], trusts),
    })
  const apt = repository('apt')
  const rpm = repository('rpm')
  const ports: Ports = { api: 0, apt: 0, rpm: 0, front: 0 }
  const front = createFrontPage(() => ({
    version: env.appVersion,
    fingerprint: keys.openpgp.fingerprint,
    documentation: !production,
    addresses: (host) => ({
      api: `http://${host}:${ports.api}`,
      apt: env.publicAptUrl ?? `http://${host}${ports.apt === 80 ? '' : `:${ports.apt}`}`,
      rpm: env.publicRpmUrl ?? `http://${host}:${ports.rpm}`,
    }),
    setups,
  }))

  /** In development a port that is taken or needs root is replaced by a free one. */
  async function open(name: string, port: number, listen: (port: number) => Promise<number>): Promise<number> {
    try {
      return await listen(port)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (production || (code !== 'EACCES' && code !== 'EADDRINUSE')) throw error
      const free = await listen(0)
      log.warn(`port ${port} for ${name} cannot be had (${code}); using ${free}, because this is development`)
      return free
    }
  }

  return {
    async listen() {
      const host = env.bindHost
      const listenApi = async (port: number) => Number(new URL(await server.listen({ port, host })).port)
      ports.api = await open('the API', env.backendPort, listenApi)
      ports.apt = await open('apt and apk', env.aptPort, (port) => apt.listen(port, host))
      ports.rpm = await open('dnf and zypper', env.rpmRepoPort, (port) => rpm.listen(port, host))
      ports.front = await open('the front page', env.frontendPort, (port) => front.listen(port, host))
      return ports
    },
    async close(deadlineMs) {
      await Promise.all([server.close(), apt.close(deadlineMs), rpm.close(deadlineMs), front.close()])
    },
  }
}
