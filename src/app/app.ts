// The whole service: wires the rooms together, starts them, and closes them in reverse.
import type { FastifyInstance } from 'fastify'
import type { Route } from '../api/http/route.ts'
import { isProblem } from '../domain/problem.ts'
import type { Overrides } from './wiring/engines.ts'
import { atMost } from '../kernel/in-time.ts'
import { createMaintenance } from './jobs/maintenance.ts'
import { createAccounts } from './wiring/accounts.ts'
import { createApi } from './wiring/api.ts'
import { createDownloadCounting } from './wiring/downloads.ts'
import { createFoundation, type Process } from './wiring/foundation.ts'
import { createGate } from './wiring/gate.ts'
import { createImports } from './wiring/imports.ts'
import { createInsight } from './wiring/insight.ts'
import { createListeners, type Ports } from './wiring/listeners.ts'
import { createLibraries } from './wiring/proxies.ts'
import { createLongWork } from './wiring/long-work.ts'
import { createPublishing } from './wiring/publishing.ts'
import type { RepositoryPorts } from './wiring/repository-listeners.ts'
import { createReplicas } from './wiring/replicas.ts'
import { createOwnReport } from '../serve/own-report.ts'
import type { KnownListener } from '../domain/listener-report.ts'
import type { Restarts } from './supervisor/supervisor.ts'

/** How long a stopping service waits for running requests and transfers. Chores included, it ends within 20 s. */
const DRAIN_MS = 12_000

export interface App {
  /** the API, for `inject` in tests */
  server: FastifyInstance
  routes: readonly Route[]
  fingerprint: string
  /** Opens the listeners. In development an unavailable port is replaced by a free one. @returns the ports in use */
  listen(): Promise<Ports>
  /** Recovers from a crash, then reports ready. */
  start(): Promise<void>
  /** Waits at most 13 s for running work, then closes everything. */
  close(): Promise<void>
}

export interface AppDeps extends Process {
  overrides?: Overrides
  /** where other processes serve the repositories; null when this one does */
  servedAt?: RepositoryPorts | null
  /** how often the parent has restarted processes; null before its first report, and without a parent */
  restarts?: () => Restarts | null
  /** asks the parent about the processes that serve the repositories; left out if this one serves them */
  listeners?: (() => Promise<readonly KnownListener[]>) | undefined
}

export async function createApp({
  overrides = {},
  servedAt = null,
  restarts = () => null,
  listeners: elsewhere,
  ...process
}: AppDeps): Promise<App> {
  const state: { notServing: 'starting' | 'draining' | null } = { notServing: 'starting' }
  const foundation = await createFoundation(process)
  const publishing = await createPublishing(foundation)
  const replicas = await createReplicas(foundation, publishing)
  const gate = await createGate(foundation, publishing, overrides)
  const accounts = await createAccounts(foundation, gate)
  const imports = await createImports(foundation, publishing, gate, overrides)
  const longWork = createLongWork(foundation, publishing, gate, imports, replicas, accounts)
  const counting = createDownloadCounting(foundation, publishing)
  const report = createOwnReport()
  const own = async () => [{ number: 1, restarts: 0, report: await report.read() }]
  const incidents = { uncaught: () => process.uncaught?.counts() ?? null, restarts, listeners: elsewhere ?? own }
  const notServing = () => state.notServing
  const insight = createInsight(foundation, publishing, gate, longWork, replicas, counting, incidents, notServing)
  const libraries = createLibraries(foundation, publishing, gate)
  const rooms = { foundation, publishing, gate, imports, longWork, accounts, insight, replicas, counting, libraries }
  const { server, routes } = await createApi(rooms, () => state.notServing !== 'draining')
  const listeners = await createListeners(foundation, publishing, server, servedAt, report)

  const { log, leader, settings, onError } = foundation
  const { engines, componentScan, crossCheck, refresh, rematch } = gate
  const { tasks, reviewTasks, backgroundIndexes, installability, scheduler } = longWork
  const { outboxes } = accounts.notifier
  const maintenance = createMaintenance({
    ...foundation,
    ...publishing,
    ...{
      componentScan,
      rematch,
      outboxes,
      backgroundIndexes,
      installability,
      tasks,
      activity: insight.activity,
      growth: insight.growth,
    },
    downloadReader: counting.reader,
    factsWriter: accounts.factsWriter,
  })

  /** Vulnerability data may be days old or missing after a start; nobody waits for it. */
  async function refreshData(): Promise<void> {
    const { validation, cve_policy: policy } = settings.current()
    if (!leader.isLeader() || !validation.grype_scan) return
    await refresh.selfTest()
    if (policy.auto_enrich) await refresh.lists()
    log.info(await reviewTasks.advisories({ force: false, createdBy: 'system' }), 'advisories')
  }

  return {
    server,
    routes,
    fingerprint: publishing.keys.openpgp.fingerprint,
    listen: listeners.listen,
    async start() {
      replicas.start()
      // Before the recovery, which may publish again what a restored backup has no files of.
      await accounts.factsWriter.begin()
      await maintenance.start()
      if (leader.isLeader()) await publishing.signingKeyFiles.finish()
      tasks.start()
      await scheduler.start()
      state.notServing = null
      componentScan.nudge()
      crossCheck.catchUp().catch(onError)
      refreshData().catch((error: unknown) => {
        if (!isProblem(error, 'shutting_down')) onError(error)
      })
    },
    async close() {
      state.notServing = 'draining'
      // Requests and jobs that wait for a task must not keep the service from stopping.
      insight.feed.stop()
      insight.logTail.stop()
      // The parts that start work end while the requests do, each within its own limit; none keeps the service from stopping.
      const ending = [tasks.stop(), scheduler.stop(), crossCheck.stop(), componentScan.stop()]
      const mails = accounts.passwordReset.settled()
      await atMost(DRAIN_MS + 1_000, Promise.all([...ending, mails, listeners.close(DRAIN_MS)]))
      await maintenance.stop()
      await engines.close()
      await imports.close()
      await libraries.close()
      await Promise.all([publishing.readers.close(), publishing.slowReaders.close()])
      await accounts.outbound.close()
      replicas.close()
      foundation.objectStore?.close()
      await foundation.database.close()
    },
  }
}
