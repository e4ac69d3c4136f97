// Pull-through: repositories that give what an upstream has.
import { join } from 'node:path'
import { createSendFile } from '../../api/registries/answers.ts'
import { findRepository } from '../../formats/index.ts'
import { wait } from '../../kernel/clock.ts'
import { createHttpClient } from '../../kernel/http-client.ts'
import { createAttested } from '../../proxies/attested.ts'
import { createClaims } from '../../proxies/claims.ts'
import { createDescriptions } from '../../proxies/descriptions.ts'
import { createKnownFindings } from '../../proxies/known-findings.ts'
import { createOnce } from '../../proxies/once.ts'
import { createProxies } from '../../proxies/proxies.ts'
import { createRegistryKeys } from '../../proxies/registry-keys.ts'
import { createUpstreamFiles } from '../../proxies/upstream-files.ts'
import { createUpstreamListings } from '../../proxies/upstream-listings.ts'
import { createWithheld } from '../../proxies/withheld.ts'
import { createNames } from '../../registries/names.ts'
import { createReleaseNotes } from '../../registries/release-notes.ts'
import { createRepositories, type Repository } from '../../registries/repositories.ts'
import { createAccessLog } from '../../serve/access-log.ts'
import { createRegistryReader } from '../../serve/registries/registry-reader.ts'
import { createRegistryClient } from '../../upstream/registries/registry-client.ts'
import type { Foundation } from './foundation.ts'
import type { Gate } from './gate.ts'
import type { Publishing } from './publishing.ts'

export type Libraries = ReturnType<typeof createLibraries>

/** Repositories of libraries, as their routes use them. */
export function createLibraries(foundation: Foundation, publishing: Publishing, { engines, intake, provenance }: Gate) {
  const { env, db, clock, audit, paths, pool, staging, secretBox, log } = foundation
  const { libraries, listings, readers } = publishing
  const http = createHttpClient({
    allowPrivate: env.allowPrivateSources,
    proxy: { http: env.httpProxy, https: env.httpsProxy, except: env.noProxy },
  })
  const client = createRegistryClient({ http, readers, newPath: staging.newPath })
  const repositories = createRepositories({ db, clock, audit, secretBox, paths })
  const accessLog = createAccessLog({
    ...{ clock, log, mostBytes: env.accessLogMb * 1024 * 1024 },
    path: join(env.accessLogDir, 'access-libraries.log'),
  })
  const names = createNames({ db, clock, audit })
  const reader = createRegistryReader(paths.listings)
  const once = createOnce({ db, clock, wait })
  const withheld = createWithheld({ db, clock })
  const shared = {
    ...{ db, clock, audit, client, listings, once, readers, intake, names, log },
    findingsOf: createKnownFindings({ settings: foundation.settings.current, matcher: engines.advisoryMatcher }),
    formatOf({ key }: Repository) {
      const found = findRepository(key, libraries)
      if (!found) throw new Error(`no format of ${key}`)
      return found.format
    },
    addressOf: ({ upstream_url: url, upstream_authorization: sealed }: Repository) => ({
      url: url!,
      authorization: sealed && secretBox.open(sealed),
    }),
  }
  const keys = createRegistryKeys({ ...shared, readingOf: (repository) => shared.formatOf(repository).upstream! })
  const releaseNotes = createReleaseNotes({ db, audit })
  const attested = createAttested({ ...shared, keys, provenance })
  const upstreamFiles = createUpstreamFiles({ ...shared, releaseNotes, attested })
  const proxies = createProxies({
    ...{ repositories, reader, withheld, log, upstreamFiles },
    upstreamListings: createUpstreamListings(shared),
    descriptions: createDescriptions({ ...shared, find: upstreamFiles.find }),
    patienceMs: (repository) => shared.formatOf(repository).upstream!.patienceMs,
  })
  return {
    ...{ names, reader, withheld, releaseNotes, provenance, registryKeys: keys },
    repositories: { ...repositories, ownerOf: proxies.ownerOf },
    claims: createClaims({ db, clock, audit }),
    reach: proxies.reach,
    listed: proxies.listed,
    described: proxies.described,
    request: proxies.request,
    sendFile: createSendFile({ pool, accessLog, rights: repositories.rights }),
    async close() {
      await Promise.all([http.close(), accessLog.close()])
    },
  }
}
