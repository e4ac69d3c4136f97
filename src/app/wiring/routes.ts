// The routes of every room.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAuthenticate } from '../../accounts/authenticate.ts'
import { artifactDetailRoutes } from '../../api/artifacts/details.ts'
import { artifactRoutes } from '../../api/artifacts/artifacts.ts'
import { auditRoutes } from '../../api/artifacts/audit.ts'
import { authRoutes } from '../../api/auth/auth.ts'
import { backupRoutes } from '../../api/backup/backup.ts'
import { cliRoutes } from '../../api/cli/cli.ts'
import { declarations } from '../../api/contract.ts'
import { distributionDetailRoutes } from '../../api/distributions/details.ts'
import { distributionRoutes } from '../../api/distributions/distributions.ts'
import { dashboardRoutes } from '../../api/dashboard/dashboard.ts'
import { downloadRoutes } from '../../api/downloads/downloads.ts'
import { driftRoutes } from '../../api/artifacts/drift.ts'
import { healthRoutes } from '../../api/health/health.ts'
import { importGroupRoutes } from '../../api/import/groups.ts'
import { reservationRoutes } from '../../api/import/reservations.ts'
import { importResolveRoutes } from '../../api/import/resolve.ts'
import { importMirrorJobRoutes } from '../../api/import/mirror-jobs.ts'
import { importMirrorRoutes } from '../../api/import/mirror.ts'
import { severalRoutes } from '../../api/import/several.ts'
import { importSyncRoutes } from '../../api/import/sync.ts'
import { importRoutes } from '../../api/import/sources.ts'
import { installabilityRoutes } from '../../api/distributions/installability.ts'
import { machineRoutes } from '../../api/machines/machines.ts'
import { logRoutes } from '../../api/logs/logs.ts'
import { npmRoutes } from '../../api/npm/npm.ts'
import { docsRoutes } from '../../api/openapi/docs.ts'
import { packageRoutes } from '../../api/packages/packages.ts'
import { pypiRoutes } from '../../api/pypi/pypi.ts'
import { proxyRoutes } from '../../api/registries/proxies.ts'
import { registryRoutes } from '../../api/registries/registries.ts'
import { readerRoutes } from '../../api/readers/readers.ts'
import { retentionRoutes } from '../../api/settings/retention.ts'
import type { Route } from '../../api/http/route.ts'
import { sbomRoutes } from '../../api/sbom/sbom.ts'
import { policyRoutes } from '../../api/security/policy.ts'
import { securityRoutes } from '../../api/security/security.ts'
import { settingsRoutes } from '../../api/settings/settings.ts'
import { setupRoutes } from '../../api/setup/setup.ts'
import { taskRoutes } from '../../api/tasks/tasks.ts'
import { ownUploadRoutes } from '../../api/upload/mine.ts'
import { uploadRoutes } from '../../api/upload/upload.ts'
import { webhookRoutes } from '../../api/webhooks/webhooks.ts'
import { exists } from '../../kernel/files.ts'
import { createDeletePackages } from '../../packages/delete-packages.ts'
import { createPreviews } from '../../intake/previews.ts'
import { embeddedOf } from '../../packages/documents/embedded.ts'
import { createSbom } from '../../packages/documents/sbom.ts'
import type { Accounts } from './accounts.ts'
import type { DownloadCounting } from './downloads.ts'
import type { Foundation } from './foundation.ts'
import type { Gate } from './gate.ts'
import type { Imports } from './imports.ts'
import type { Insight } from './insight.ts'
import type { Publishing } from './publishing.ts'
import type { Libraries } from './proxies.ts'
import type { LongWork } from './long-work.ts'
import type { Replicas } from './replicas.ts'

/** The same from `dist/app/wiring` and from `src/app/wiring`. */
const ROOT = join(import.meta.dirname, '..', '..', '..')
/** Made by the build. */
const COMMAND_PATH = join(ROOT, 'dist', 'cli', 'gatehouse.mjs')
/** Of the API. `env.appVersion` names the build, in any form. */
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }

export interface Rooms {
  foundation: Foundation
  publishing: Publishing
  gate: Gate
  imports: Imports
  longWork: LongWork
  accounts: Accounts
  insight: Insight
  replicas: Replicas
  counting: DownloadCounting
  libraries: Libraries
}

export function routesOf(
  { foundation, publishing, gate, imports, longWork, accounts, insight, counting, libraries }: Rooms,
  authenticate: ReturnType<typeof createAuthenticate>,
): Route[] {
  const { env, db, clock, log, audit, paths, production } = foundation
  const { keys, registry, publisher, placed: offered } = publishing
  const { engines, refresh, rematch } = gate
  const settings = foundation.settings.current
  const { tasks, totals } = longWork

  const previews = createPreviews({ db, registry })
  const deletePackages = createDeletePackages({ db, deleteIds: gate.deleteIds })
  const { repositories } = libraries
  const reading = {
    ...{ ...libraries, db, clock, publisher, intake: gate.intake, deletePackages },
    reachedAt: publishing.reachedAt.api,
  }

  const routes: Route[] = [
    ...authRoutes({
      ...accounts,
      distributions: registry.distributions,
      isRepository: async (key) => (await repositories.find(key)) !== null,
    }),
    ...setupRoutes(accounts),
    ...machineRoutes(accounts),
    ...readerRoutes(accounts),
    ...packageRoutes({ db }),
    ...auditRoutes({ db, audit }),
    ...artifactRoutes({
      db,
      clock,
      audit,
      registry,
      totals,
      previews,
      deletePackages,
      tasks,
      downloads: counting.downloads,
    }),
    ...artifactDetailRoutes({ db, offered }),
    ...downloadRoutes(counting),
    ...dashboardRoutes({ ...insight, db, log, audit, authenticate }),
    ...logRoutes({ directory: env.accessLogDir, tail: insight.logTail, log, authenticate }),
    ...driftRoutes({ db, audit, tasks, drift: longWork.drift }),
    ...backupRoutes({ db, audit, tasks, settings, backupDirectory: env.backupDir }),
    ...cliRoutes({ path: COMMAND_PATH, version: env.appVersion }),
    ...importRoutes({ ...imports, db, log, tasks }),
    ...severalRoutes({ db, log, registry, importRequested: imports.importRequested, tasks }),
    ...reservationRoutes(imports),
    ...importGroupRoutes({ db, tasks }),
    ...importResolveRoutes({
      db,
      clock,
      registry,
      settings,
      matcher: engines.advisoryMatcher,
      canScanMalware: gate.canScanMalware,
    }),
    ...importSyncRoutes({
      ...imports,
      db,
      clock,
      log,
      audit,
      tasks,
      settings,
      authenticate,
      syncRuns: longWork.syncRuns,
    }),
    ...importMirrorRoutes({
      ...longWork.mirroring,
      ...imports,
      db,
      audit,
      settings: foundation.settings,
      nextRun: () => longWork.scheduler.state().find(({ id }) => id === 'mirror')?.next_run ?? null,
    }),
    ...importMirrorJobRoutes({ ...longWork, db, log, audit, authenticate }),
    ...uploadRoutes({ intake: gate.intake, settings, log }),
    ...ownUploadRoutes({ db }),
    ...distributionRoutes({
      db,
      clock,
      audit,
      all: publishing.all,
      isActive: publishing.isActive,
      repoFormat: env.repoFormat,
      fingerprint: () => keys.openpgp.fingerprint,
      registry,
      promote: gate.promote,
      promoteSeveral: gate.promoteSeveral,
      previews,
      tasks,
      readers: accounts.readers,
      hasSigningKey: () => exists(join(paths.gnupg, 'signing-key.asc')),
    }),
    ...distributionDetailRoutes({
      db,
      all: publishing.all,
      setupOf: (codename, request, signsIn) =>
        publishing.setups.of(codename, publishing.reachedAt.of(request), signsIn),
    }),
    ...installabilityRoutes({ db, audit, registry, tasks, installability: longWork.installability }),
    ...securityRoutes({
      db,
      clock,
      review: gate.review,
      settings,
      offered,
      audit,
      log,
      downloads: counting.downloads,
      antivirus: engines.antivirusStatus,
      freshclam: engines.freshclam && {
        ...engines.freshclam,
        update: async (progress) => {
          const outcome = await engines.freshclam!.update(progress)
          await refresh.selfTest()
          return outcome
        },
      },
      vulnscan: {
        status: engines.advisoryData.status,
        update: (progress, { name, origin }) =>
          longWork.reviewTasks.advisories({ force: true, createdBy: name, requestId: origin.requestId }, progress),
      },
      feeds: {
        status: engines.enrichment.status,
        update: (progress, { name, origin }) =>
          longWork.reviewTasks.feeds({ createdBy: name, requestId: origin.requestId }, progress),
      },
    }),
    ...webhookRoutes({
      db,
      clock,
      audit,
      secret: env.webhookSecret,
      exploited: refresh.exploited,
      advisory: async (cve) => (await rematch.about(cve)).changed,
    }),
    ...taskRoutes({ db, log, audit, tasks, authenticate }),
    ...policyRoutes({ settings: foundation.settings, audit }),
    ...sbomRoutes({
      sbom: createSbom({
        db,
        find: registry.place,
        distributions: registry.distributions,
        version: env.appVersion,
        embedded: embeddedOf(gate.components),
      }),
    }),
    ...settingsRoutes({
      settings: foundation.settings,
      audit,
      notifier: accounts.notifier,
      directory: accounts.directory,
      testOidc: accounts.testOidc,
      nextSync: () => longWork.scheduler.state().find(({ id }) => id === 'sync')?.next_run ?? null,
      signing: { db, keys, tasks },
    }),
    ...registryRoutes(reading),
    ...proxyRoutes(libraries),
    ...npmRoutes({ ...reading, ...accounts, authenticate, matcher: engines.advisoryMatcher }),
    ...pypiRoutes({
      ...reading,
      maxUploadBytes: () => settings().validation.max_upload_size_mb * 1024 * 1024,
    }),
    ...retentionRoutes({ db, tasks }),
    ...healthRoutes({
      ...insight,
      production,
      requireAuth: env.healthRequireAuth,
      metricsToken: env.metricsToken,
    }),
  ]
  return [...routes, ...docsRoutes(declarations, VERSION)]
}
