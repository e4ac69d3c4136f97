// The process of the API; it also serves the repositories unless other processes do.
import { createApp } from './app.ts'
import { closed } from './closed.ts'
import { startFailure } from '../kernel/start-error.ts'
import type { Uncaught } from '../kernel/uncaught.ts'
import { stopRequested } from './stop-requested.ts'
import { isOfDatabase } from '../store/database-away.ts'
import type { KnownListener } from '../domain/listener-report.ts'
import { PARENT_MS, REPORT } from './supervisor/listener-reports.ts'
import { askInTime, createAsker } from './supervisor/questions.ts'
import { WAITS } from './supervisor/restarts.ts'
import { isRestarts, type Restarts } from './supervisor/supervisor.ts'
import type { Process } from './wiring/foundation.ts'
import type { RepositoryPorts } from './wiring/repository-listeners.ts'

export interface RunService extends Process {
  uncaught: Uncaught
  /** where other processes serve the repositories; this one is then a child of the parent that keeps them running */
  servedAt: RepositoryPorts | null
  /** called when it is ready and has no parent */
  ready(): void
}

/**
 * Runs until it is told to stop.
 * @returns the exit code; `WAITS` when the database keeps it from starting and other processes serve the repositories meanwhile
 * @throws when it cannot start
 */
export async function runService(given: RunService): Promise<number> {
  try {
    return await run(given)
  } catch (error) {
    if (given.servedAt === null || !isOfDatabase(error)) throw error
    given.log.error(startFailure(error))
    return WAITS
  }
}

async function run({ servedAt, ...given }: RunService): Promise<number> {
  const { env, log } = given
  const isChild = servedAt !== null
  const tracing = await traced(given)
  const stopping = stopRequested({ isChild, fatal: given.uncaught.fatal })
  let restarts: Restarts | null = null
  const parent = createAsker((message) => process.send?.(message))
  process.on('message', (message) => {
    parent.receive(message)
    if (isRestarts(message)) ({ restarts } = message)
  })
  const listeners = isChild
    ? askInTime(() => parent.ask(REPORT) as Promise<readonly KnownListener[]>, PARENT_MS)
    : undefined
  const app = await createApp({ ...given, servedAt, restarts: () => restarts, listeners })
  const running = (async () => {
    const ports = await app.listen()
    log.info({ ports, host: env.bindHost }, 'listening')
    await app.start()
    log.info({ fingerprint: app.fingerprint }, 'ready')
    if (isChild) process.send?.({ ready: true })
    else given.ready()
  })()
  // A signal during the start stops it too; a failed start rejects.
  const signal = await Promise.race([stopping, running.then(() => stopping)])
  log.info({ signal }, 'stopping')
  return closed(async () => {
    await app.close()
    await tracing?.close()
  }, log)
}

/** OpenTelemetry is loaded only if it is configured, and before anything that it traces is created. */
async function traced({ env, log }: Process) {
  if (env.otlpEndpoint === null || env.otelDisabled) return null
  const { startTracing } = await import('../operations/monitoring/tracing.ts')
  return startTracing({ version: env.appVersion, protocol: env.otlpProtocol, log })
}
