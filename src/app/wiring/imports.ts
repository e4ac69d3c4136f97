// The way in from upstream repositories: sources, their syncs, and imports.
import { dirname } from 'node:path'
import { createImportMany } from '../../imports/import-many.ts'
import { seedBuiltInSources } from '../../imports/built-in/seed.ts'
import { createImportPackage } from '../../imports/import-package.ts'
import { createImportRequested } from '../../imports/import-requested.ts'
import { createReservations } from '../../imports/reservations.ts'
import { roomAt } from '../../kernel/disks.ts'
import { createRoom } from '../../imports/room.ts'
import { createSources } from '../../imports/sources.ts'
import { syncKind } from '../../imports/sync.ts'
import { wait } from '../../kernel/clock.ts'
import { createHttpClient } from '../../kernel/http-client.ts'
import { createUpstreams } from '../../upstream/upstream.ts'
import type { Overrides } from './engines.ts'
import type { Foundation } from './foundation.ts'
import type { Gate } from './gate.ts'
import type { Publishing } from './publishing.ts'

export type Imports = Awaited<ReturnType<typeof createImports>>

/** Stores the built-in sources of the distributions that are offered. */
export async function createImports(
  foundation: Foundation,
  { formats, registry, active, readers, slowReaders }: Publishing,
  { intake }: Gate,
  overrides: Overrides,
) {
  const { env, db, clock, audit, staging, paths, onError } = foundation
  const settings = foundation.settings.current
  const room = createRoom(async () => (await roomAt(paths.root)).freeBytes, settings)
  await seedBuiltInSources(db, active, clock)
  const http = createHttpClient({
    allowPrivate: env.allowPrivateSources,
    proxy: { http: env.httpProxy, https: env.httpsProxy, except: env.noProxy },
  })
  const upstreams = createUpstreams({
    ...{ http, clock, formats, wait, readers: { quick: readers, slow: slowReaders } },
    // Beside the uploads of this process, so that its files are removed after a crash.
    stagingDirectory: dirname(staging.newPath()),
    importDirectories: env.importDirectories,
    requireRoom: room.requireRoom,
    ...overrides.upstreams,
  })
  const sources = createSources({
    ...{ db, clock, audit, formats, upstreams, registry, settings },
    mayBePrivate: env.allowPrivateSources,
  })
  const { newPath } = staging
  const importMany = createImportMany({ db, clock, audit, registry, upstreams, intake, settings, newPath, onError })
  return {
    formats,
    room,
    sources,
    importMany,
    reservations: createReservations({ db, clock, audit }),
    importRequested: createImportRequested({ db, registry, importMany }),
    importPackage: createImportPackage({ db, sources, upstreams, intake, newPath, importMany, registry }),
    syncKind: syncKind({ db, clock, audit, sources, upstreams, registry }),
    close: () => http.close(),
  }
}
