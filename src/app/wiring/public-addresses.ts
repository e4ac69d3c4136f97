// The addresses of the repositories for package clients: from the settings, the environment or the address of a request.
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { Env } from '../../config/env.ts'
import { isPublicAddress } from '../../domain/setting-kinds.ts'
import type { ListenerId } from '../../formats/serving.ts'
import { createTrust } from '../../kernel/client-address.ts'
import { isMissing } from '../../kernel/files.ts'
import { addressOf, peerOf } from '../../serve/public-address.ts'

export type PublicUrls = Record<ListenerId, string | null>

type UrlVariables = Pick<Env, 'publicAptUrl' | 'publicRpmUrl'>

/** @param set the section `addresses` of the settings, as far as it is valid */
export function publicUrls({ publicAptUrl, publicRpmUrl }: UrlVariables, set: unknown): PublicUrls {
  const chosen = (key: 'apt_url' | 'rpm_url') => {
    const value = (set as Record<string, unknown> | null | undefined)?.[key]
    if (typeof value !== 'string' || value === '' || isPublicAddress(value) !== null) return null
    return value.replace(/\/+$/, '')
  }
  return { apt: chosen('apt_url') ?? publicAptUrl, rpm: chosen('rpm_url') ?? publicRpmUrl }
}

/** The same for a process that only serves files: reads the settings file whenever a client requests a set-up. */
export function readPublicUrls(known: UrlVariables, settingsPath: string): PublicUrls {
  try {
    const stored = JSON.parse(readFileSync(settingsPath, 'utf8')) as { addresses?: unknown } | null
    return publicUrls(known, stored?.addresses)
  } catch (error) {
    // A file that is not JSON is left to the process that writes it.
    if (isMissing(error) || error instanceof SyntaxError) return publicUrls(known, null)
    throw error
  }
}

export interface ReachedAt {
  /** set once the listeners are open */
  ports: Record<ListenerId, number>
  /** for a client that reached the API or the console like this */
  of(request: Pick<IncomingMessage, 'headers' | 'socket'>): Record<ListenerId, string>
  /** the address of the API for that client */
  api(request: Pick<IncomingMessage, 'headers' | 'socket'>): string
}

/** @param deps.configured as `publicUrls` */
export function createReachedAt(deps: { configured(): PublicUrls; trustedProxies: readonly string[] }): ReachedAt {
  const trusts = createTrust(deps.trustedProxies)
  const reached: ReachedAt = {
    ports: { apt: 80, rpm: 8080 },
    of({ headers, socket }) {
      const { apt, rpm } = deps.configured()
      const { hostname } = new URL(addressOf(headers, peerOf(socket), null, trusts))
      const at = (port: number) => `http://${hostname}${port === 80 ? '' : `:${port}`}`
      return { apt: apt ?? at(reached.ports.apt), rpm: rpm ?? at(reached.ports.rpm) }
    },
    api: ({ headers, socket }) => addressOf(headers, peerOf(socket), null, trusts),
  }
  return reached
}
