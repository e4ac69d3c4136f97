// The only wiring: every part is made here from the parts it needs, and closed here in reverse.
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { createAuthenticate } from './accounts/authenticate.ts'
import { createLogin } from './accounts/login.ts'
import { createOwnAccount } from './accounts/own-account.ts'
import { createPasswordReset, RESET_MINUTES } from './accounts/password-reset.ts'
import { createPasswords } from './accounts/passwords.ts'
import { createSessions } from './accounts/sessions.ts'
import { createSetup } from './accounts/setup.ts'
import { createSlowing } from './accounts/slowing.ts'
import { createTokens } from './accounts/tokens.ts'
import { createUsers } from './accounts/users.ts'
import { artifactRoutes } from './api/artifacts.ts'
import { auditRoutes } from './api/audit.ts'
import { authRoutes } from './api/auth.ts'
import { distributionRoutes } from './api/distributions.ts'
import { docsRoutes } from './api/docs.ts'
import { healthRoutes } from './api/health.ts'
import { createLimiter } from './api/limits.ts'
import { openapi } from './api/openapi.ts'
import { packageRoutes } from './api/packages.ts'
import type { Route } from './api/route.ts'
import { sbomRoutes } from './api/sbom.ts'
import { policyRoutes } from './api/security-policy.ts'
import { securityRoutes } from './api/security.ts'
import { createServer } from './api/server.ts'
import { settingsRoutes } from './api/settings.ts'
import { setupRoutes } from './api/setup.ts'
import { uploadRoutes } from './api/upload.ts'
import { webhookRoutes } from './api/webhooks.ts'
import { activeFormats, type Env } from './config/env.ts'
import { createLicense } from './config/license.ts'
import { countSeverities, type Severity } from './domain/finding.ts'
import { createEngines, type Overrides } from './engines.ts'
import type { Offered } from './formats/format.ts'
import { findDistribution, formats, recognize } from './formats/index.ts'
import { createHealth } from './insight/health.ts'
import { createMetrics } from './insight/metrics.ts'
import { antivirusStep } from './gate/antivirus.ts'
import { cveScanStep } from './gate/cve-scan.ts'
import { dependenciesStep } from './gate/dependencies.ts'
import type { FormatRegistry } from './intake/identify.ts'
import { createIntake } from './intake/intake.ts'
import { signatureStep } from './gate/signature.ts'
import { createJobs } from './jobs/jobs.ts'
import { createLeader } from './jobs/leader.ts'
import { createScheduler } from './jobs/scheduler.ts'
import { createBus } from './kernel/bus.ts'
import { createCheckpoint } from './kernel/checkpoint.ts'
import type { Clock } from './kernel/clock.ts'
import { createSecretBox } from './kernel/crypto.ts'
import { ensureContent, exists } from './kernel/files.ts'
import { createHttpClient } from './kernel/http-client.ts'
import type { Log } from './kernel/log.ts'
import { createMaintenance } from './maintenance.ts'
import { createNotifier } from './notify/notifier.ts'
import { createPreflight } from './preflight.ts'
import { createCollector } from './publish/tree/collect.ts'
import { ensureDistributions } from './publish/initialize.ts'
import { createPublisher } from './publish/publisher.ts'
import { reindex } from './records/reindex.ts'
import { createUpdateinfo } from './publish/background/updateinfo.ts'
import { createComponentScan } from './review/components.ts'
import { createCrossCheck } from './review/cross-check.ts'
import { reviseKnown } from './review/known-exploited.ts'
import { systemActor } from './review/parts.ts'
import { createRematch } from './review/rematch.ts'
import { createReview } from './review/review.ts'
import { embeddedOf } from './sbom/embedded.ts'
import { createSbom } from './sbom/sbom.ts'
import { COMPONENT_ENGINE } from './scanners/components/match.ts'
import { createAccessLog } from './serve/access-log.ts'
import { createFrontPage } from './serve/front-page.ts'
import { activeMounts, APT_MOUNTS, RPM_MOUNTS } from './serve/mounts.ts'
import { createRepositoryListener } from './serve/repository-listener.ts'
import { createSettings } from './settings/settings.ts'
import { openKeys } from './signing/keys.ts'
import { rematchNews } from './store/advisories/advisories.ts'
import { createAuditLog } from './store/audit-log.ts'
import { createComponents } from './store/files/components.ts'
import { migrate, openDatabase } from './store/db.ts'
import { createManifests } from './store/records/manifests.ts'
import { createPaths, ensurePaths } from './store/paths.ts'
import { createPool } from './store/files/pool.ts'
import { createStaging } from './store/files/staging.ts'
import { createTotals } from './store/records/totals.ts'

const DRAIN_MS = 30_000

export interface Ports {
  api: number
  apt: number
  rpm: number
  front: number
}

export interface App {
  /** the API, for `inject` in tests */
  server: FastifyInstance
  routes: readonly Route[]
  fingerprint: string
  /** Opens the listeners. In development a port that cannot be had is replaced by a free one. @returns the ports in use */
  listen(): Promise<Ports>
  /** Recovers from whatever a crash left, then reports ready. */
  start(): Promise<void>
  /** Lets what runs come to its end, at most half a minute, and closes everything. */
  close(): Promise<void>
}

export async function createApp({
  env,
  clock,
  log,
  overrides = {},
}: {
  env: Env
  clock: Clock
  log: Log
  overrides?: Overrides
}): Promise<App> {
  const production = env.mode === 'production'
  const onError = (error: unknown) => log.error({ err: error }, 'unexpected')
  const state: { notServing: 'starting' | 'draining' | null } = { notServing: 'starting' }

  // Kernel and store
  const checkpoint = createCheckpoint(env.dieAt ?? undefined)
  const bus = createBus(onError)
  const license = createLicense(env.edition)
  const paths = createPaths(env.reposDir)
  await ensurePaths(paths)
  const database = await openDatabase(env.databaseUrl, {
    onError: (error) => log.warn({ err: error }, 'database connection lost'),
  })
  const { db } = database
  await migrate(db)
  const pool = createPool(paths)
  const manifests = createManifests(db, paths)
  const staging = createStaging({ db, clock, paths, pool, exclusive: database.engine === 'pglite' })
  // Before anything listens: an arrival needs its directory, and its process a name.
  await staging.register()
  const leader = createLeader({ db, clock, instanceId: staging.instanceId, isDead: staging.isDead })
  const audit = createAuditLog({ db, clock, directory: paths.audit, checkpoint, mayFile: leader.isLeader, onError })

  const settings = createSettings({
    path: paths.settings,
    secretBox: createSecretBox(env.settingsEncryptionKey),
    clock,
    bus,
    repoFormat: env.repoFormat,
    edition: env.edition,
    mode: env.mode,
    onError,
  })
  for (const warning of (await settings.load()).warnings) log.warn(warning)

  // Formats, keys, publishing
  const keys = await openKeys(paths.gnupg, clock.now())
  await ensureContent(join(paths.keys, 'gpg.key'), keys.openpgp.publicKeyArmored)
  await ensureContent(join(paths.keys, keys.apk.keyName), keys.apk.publicKeyPem)
  const all: Offered[] = formats.flatMap((format) =>
    format.distributions.map((distribution) => ({ format, distribution })),
  )
  const activeIds = activeFormats(env.repoFormat)
  const isActive = (codename: string) =>
    all.some((o) => o.distribution.codename === codename && activeIds.includes(o.format.id))
  const active = all.filter((offered) => activeIds.includes(offered.format.id))
  const offered = (codename: string): Offered => {
    const found = findDistribution(codename)
    if (!found) throw new Error(`no distribution ${codename}`)
    return found
  }
  const registry: FormatRegistry = { recognize, find: findDistribution, isActive }
  const publisher = createPublisher({ db, clock, paths, pool, signers: keys, bus, checkpoint, offered, onError })
  const collector = createCollector({
    db,
    clock,
    paths,
    pool,
    manifests,
    checkpoint,
    offered,
    known: (codename) => findDistribution(codename) !== null,
  })
  await ensureDistributions(db, clock, active)

  // The gate
  const distributions = active.map(({ distribution }) => distribution)
  const engines = await createEngines({
    env,
    db,
    clock,
    log,
    distributions,
    overrides,
    onError,
    enriching: () => settings.current().cve_policy.auto_enrich,
  })
  const { cveScanner, antivirusStatus } = engines
  const steps = [
    antivirusStep(engines.antivirus, production),
    cveScanStep(cveScanner, clock),
    signatureStep({ signers: keys, clock, newPath: staging.newPath }),
    dependenciesStep(db),
  ]
  const rooms = {
    db,
    clock,
    bus,
    audit,
    pool,
    staging,
    manifests,
    publisher,
    checkpoint,
    steps,
    settings: settings.current,
  }
  const intake = createIntake({ ...rooms, registry, clean: collector.debris })
  const reviewParts = {
    ...rooms,
    collector,
    engines: [
      ...new Set([cveScanner, ...engines.crossScanners, engines.rematchScanner].map(({ name }) => name)),
      COMPONENT_ENGINE,
    ],
    offered,
    onError,
  }
  const components = createComponents(db)
  const libraries = createComponentScan({
    ...reviewParts,
    components,
    matcher: engines.componentMatcher,
    mayWork: leader.isLeader,
  })
  bus.on('package', libraries.nudge)
  const review = createReview(reviewParts, { libraries })
  const crossCheck = createCrossCheck({
    ...reviewParts,
    scanners: engines.crossScanners,
    distributions,
    mayWork: leader.isLeader,
    generation: async () => (await engines.advisories.state()).generation,
  })
  bus.on('package', crossCheck.nudge)
  const rematch = createRematch({
    ...reviewParts,
    scanner: engines.rematchScanner,
    distributions,
    covers: engines.covers,
    libraries,
    news: rematchNews(db, engines.advisories),
  })
  const checkCanaries = async () => {
    const scopes = await engines.canaries.check()
    const blind = scopes.filter((one) => one.blind).map(({ scanner, scope }) => `${scanner} (${scope})`)
    if (blind.length > 0) log.error({ blind }, 'scanners miss what they must find: what they pass counts as unscanned')
    return { shown: scopes.length, blind: blind.length }
  }
  const refreshAdvisories = async (progress?: (line: string) => void, force = false) => {
    const outcome = await engines.advisoryData.update(progress, { force })
    if (outcome.status === 'updated') {
      await checkCanaries()
      log.info(await rematch.changed(), 'packages matched against new advisories')
    }
    return outcome
  }
  const knownOf = (cves: readonly string[] | null, actor: Parameters<typeof systemActor>[0]) =>
    reviseKnown(reviewParts, engines.enrichment.enrich, cves, systemActor(actor))
  const refreshLists = async (progress?: (line: string) => void, force = false) => {
    const { exploited, ...outcome } = await engines.enrichment.refresh({ force, ...(progress ? { progress } : {}) })
    if (outcome.status !== 'updated') return outcome
    const changed = await knownOf(null, 'scheduler')
    return {
      ...outcome,
      message: `${outcome.message}; ${exploited.length} newly known to be exploited, ${changed} packages changed`,
    }
  }
  const vulnscan = async () => {
    const { available, version, error } = await engines.advisoryData.status()
    const blind = engines.canaries.state().scopes.filter((one) => one.blind && one.scanner === cveScanner.name)
    return {
      ok: available && blind.length === 0,
      version,
      db_age_seconds: await engines.advisoryData.ageSeconds(),
      ...(error
        ? { error }
        : blind.length > 0
          ? { error: `blind for ${blind.map(({ scope }) => scope).join(', ')}` }
          : {}),
    }
  }
  const scheduler = createScheduler({
    db,
    clock,
    log,
    audit,
    settings: settings.current,
    isLeader: leader.isLeader,
    jobs: createJobs({ review, rematch, crossCheck, refreshAdvisories, refreshLists, checkCanaries }),
  })

  // The outside
  const outbound = createHttpClient({
    allowPrivate: false,
    allowedHosts: env.outboundAllowedHosts,
    proxy: { http: env.httpProxy, https: env.httpsProxy, except: env.noProxy },
  })
  const notifier = createNotifier({
    db,
    clock,
    log,
    http: outbound,
    settings: settings.current,
    secret: env.webhookSecret,
    httpsOnly: production,
  })

  // Accounts
  const changing = { db, audit, onError, clock }
  const passwords = createPasswords()
  const slowing = createSlowing({ clock, wait })
  const sessions = createSessions({
    ...changing,
    secret: env.jwtSecretKey,
    algorithm: env.jwtAlgorithm,
    expireMinutes: env.jwtExpireMinutes,
  })
  const setup = createSetup({
    ...changing,
    passwords,
    sessions,
    ...(env.setupToken ? { setupToken: env.setupToken } : {}),
    checks: createPreflight({ db, paths, env, antivirus: antivirusStatus, vulnscan }),
    saveAppUrl: async (url) => void (await settings.patch({ app_url: url }, 'system')),
  })
  if (env.adminUsername && env.adminPasswordHash) {
    const { reason } = await setup.seedAdmin({ username: env.adminUsername, passwordHash: env.adminPasswordHash })
    if (reason) log.info(reason)
  }
  const passwordReset = createPasswordReset({
    ...changing,
    passwords,
    deliverReset: (user, token) => notifier.sendReset(user, token, RESET_MINUTES),
  })

  // Insight
  const health = createHealth({
    db,
    clock,
    paths,
    version: env.appVersion,
    startedAt: clock.now(),
    edition: env.edition,
    instanceId: staging.instanceId,
    fingerprint: keys.openpgp.fingerprint,
    clamavDbDir: env.clamavDbDir,
    grypeDbDir: env.grypeDbCacheDir,
    antivirus: antivirusStatus,
    vulnscan,
    isLeader: leader.isLeader,
    jobs: scheduler.state,
    blindness: () => engines.canaries.state().scopes,
    notServing: () => state.notServing,
  })
  const metrics = createMetrics({
    async totals() {
      const rows = await db
        .selectFrom('distributions')
        .select(['published_count', 'pending_count', 'quarantined_count'])
        .execute()
      const sum = (pick: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + pick(row), 0)
      return {
        packages: sum((r) => r.published_count + r.pending_count),
        pendingReview: sum((r) => r.pending_count),
        quarantined: sum((r) => r.quarantined_count),
      }
    },
    async antivirusUpdatedAt() {
      const { db_date: date } = await antivirusStatus()
      return date === null ? null : Date.parse(date) / 1000
    },
    advisoriesAgeSeconds: engines.advisoryData.ageSeconds,
    blindness: () => engines.canaries.state().scopes,
  })
  bus.on('published', (event) => log.info(event, 'published'))
  bus.on('intake', ({ status, findings }) => {
    metrics.countUpload(status)
    metrics.countFindings(countSeverities(findings as { severity: Severity }[]))
  })

  const totals = createTotals({ clock, ttlSeconds: env.manifestCacheTtl })
  bus.on('package', totals.forget)

  // The API
  const routes: Route[] = [
    ...authRoutes({
      login: createLogin({ ...changing, passwords, sessions, slowing }),
      sessions,
      ownAccount: createOwnAccount({ ...changing, passwords, slowing }),
      passwordReset,
      users: createUsers({ ...changing, passwords }),
      tokens: createTokens(changing),
    }),
    ...setupRoutes({ setup }),
    ...packageRoutes({ db }),
    ...auditRoutes({ db, audit }),
    ...artifactRoutes({
      db,
      clock,
      audit,
      bus,
      registry,
      publisher,
      manifests,
      collector,
      checkpoint,
      totals,
      onError,
      reindex: () =>
        reindex({ db, manifests, pool, publisher, checkpoint, find: findDistribution }).finally(totals.forget),
    }),
    ...uploadRoutes({ intake, registry, staging, audit, settings: settings.current, log }),
    ...distributionRoutes({
      db,
      clock,
      audit,
      publisher,
      all,
      isActive,
      repoFormat: env.repoFormat,
      fingerprint: keys.openpgp.fingerprint,
      hasSigningKey: () => exists(join(paths.gnupg, 'signing-key.asc')),
    }),
    ...securityRoutes({
      db,
      clock,
      review,
      settings: settings.current,
      audit,
      log,
      antivirus: antivirusStatus,
      freshclam: engines.freshclam && {
        ...engines.freshclam,
        update: async (progress) => {
          const outcome = await engines.freshclam!.update(progress)
          await checkCanaries()
          return outcome
        },
      },
      vulnscan: { status: engines.advisoryData.status, update: (progress) => refreshAdvisories(progress, true) },
      feeds: { status: engines.enrichment.status, update: (progress) => refreshLists(progress, true) },
    }),
    ...webhookRoutes({
      db,
      clock,
      audit,
      secret: env.webhookSecret,
      async exploited(entries) {
        await engines.enrichment.addExploited(entries)
        return knownOf(
          entries.map(({ cve }) => cve),
          'webhook',
        )
      },
      advisory: async (cve) => (await rematch.about(cve)).changed,
    }),
    ...policyRoutes({ settings, audit }),
    ...sbomRoutes({
      sbom: createSbom({ db, find: findDistribution, version: env.appVersion, embedded: embeddedOf(components) }),
    }),
    ...settingsRoutes({ settings, audit, notifier }),
    ...healthRoutes({
      health,
      metrics,
      production,
      requireAuth: env.healthRequireAuth,
      metricsToken: env.metricsToken,
    }),
  ]
  routes.push(...docsRoutes(() => openapi(routes, { version: env.appVersion })))
  const server = await createServer({
    routes,
    log,
    production,
    trustedProxies: env.trustedProxies,
    corsOrigins: env.corsOrigins,
    limiter: createLimiter(clock, env.rateLimitFactor),
    authenticate: createAuthenticate({ db, clock, sessions }),
    requireFeature: license.requireFeature,
    isLeader: leader.isLeader,
    accepting: () => state.notServing !== 'draining',
    observe: metrics.observeRequest,
    denied: (request, caller, route) =>
      audit.record({
        action: 'ACCESS_DENIED',
        result: 'FAILURE',
        user: caller.name,
        detail: `${route.method} ${route.path}`,
        outcome: 'forbidden',
        ip: request.ip,
        requestId: request.id,
      }),
  })

  // Repository listeners
  const listener = (name: string, mounts: typeof APT_MOUNTS) =>
    createRepositoryListener({
      reposDir: paths.root,
      mounts: activeMounts(mounts, activeIds),
      clock,
      log,
      accessLog: createAccessLog({ path: join(paths.logs, `access-${name}.log`), clock, log }),
    })
  const apt = listener('apt', APT_MOUNTS)
  const rpm = listener('rpm', RPM_MOUNTS)
  const ports: Ports = { api: 0, apt: 0, rpm: 0, front: 0 }
  const front = createFrontPage(() => ({
    version: env.appVersion,
    fingerprint: keys.openpgp.fingerprint,
    distributions: active.map((o) => o.distribution),
    documentation: !production,
    addresses: (host) => ({
      api: `http://${host}:${ports.api}`,
      apt: `http://${host}${ports.apt === 80 ? '' : `:${ports.apt}`}`,
      rpm: `http://${host}:${ports.rpm}`,
    }),
  }))
  bus.on('sla', ({ kind, items }) => {
    if (kind !== 'expiring') return
    audit
      .record({
        action: 'SLA_EXPIRING',
        result: 'WARNING',
        user: 'scheduler',
        outcome: 'expiring',
        detail: `${items.length} deadlines within a week`,
        extra: { items },
      })
      .catch(onError)
  })
  const maintenance = createMaintenance({
    db,
    clock,
    paths,
    log,
    leader,
    staging,
    manifests,
    publisher,
    collector,
    audit,
    active,
    libraries,
    outboxes: notifier.outboxes,
    updateinfo: createUpdateinfo({ db, paths, publisher, advisories: engines.advisories, covers: engines.covers }),
  })

  return {
    server,
    routes,
    fingerprint: keys.openpgp.fingerprint,
    async listen() {
      const open = async (name: string, port: number, listen: (port: number) => Promise<number>) => {
        try {
          return await listen(port)
        } catch (error) {
          const { code } = error as NodeJS.ErrnoException
          if (production || (code !== 'EACCES' && code !== 'EADDRINUSE')) throw error
          const free = await listen(0)
          log.warn(`port ${port} for ${name} cannot be had (${code}); ${free} is used instead, as this is development`)
          return free
        }
      }
      ports.api = await open('the API', env.backendPort, async (port) =>
        Number(new URL(await server.listen({ port, host: env.bindHost })).port),
      )
      ports.apt = await open('apt and apk', env.aptPort, (port) => apt.listen(port, env.bindHost))
      ports.rpm = await open('dnf and zypper', env.rpmRepoPort, (port) => rpm.listen(port, env.bindHost))
      ports.front = await open('the front page', env.frontendPort, (port) => front.listen(port, env.bindHost))
      return ports
    },
    async start() {
      await maintenance.start()
      await scheduler.start()
      state.notServing = null
      libraries.nudge()
      void crossCheck.catchUp().catch(onError)
      // They may be days old or missing; nobody waits for them.
      if (leader.isLeader() && settings.current().validation.grype_scan) {
        const { auto_enrich: enriching } = settings.current().cve_policy
        void checkCanaries()
          .then(() => (enriching ? refreshLists() : undefined))
          .then(() => refreshAdvisories())
          .then((outcome) => log.info(outcome, 'advisories'), onError)
      }
    },
    async close() {
      state.notServing = 'draining'
      await Promise.all([server.close(), apt.close(DRAIN_MS), rpm.close(DRAIN_MS), front.close()])
      // A mail server that hangs must not keep the service from stopping.
      await Promise.race([passwordReset.settled(), new Promise((resolve) => setTimeout(resolve, DRAIN_MS).unref())])
      await scheduler.stop()
      await libraries.stop()
      await crossCheck.stop()
      await maintenance.stop()
      await engines.close()
      await outbound.close()
      await database.close()
    },
  }
}

function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    })
  })
}
