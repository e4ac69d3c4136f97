// The process: environment and role in, exit code out.
import { readEnv, readListenerEnv, type ListenerEnv } from './config/env.ts'
import { systemClock as clock } from './kernel/clock.ts'
import { createLogFile } from './kernel/log-file.ts'
import { createProcessLog } from './kernel/log.ts'
import { StartError, startFailure } from './kernel/start-error.ts'

const ROLES = new Set(['service', 'serve', 'api', 'listener'])

/**
 * The first argument is the role. A role loads only the code it needs.
 * - none or `service`: the whole service, in this process or as the parent of several
 * - `serve`: only the repositories, in this process or as the parent of several
 * - `api <apt port> <rpm port>`, `listener`: a child of one of these two
 */
async function main(): Promise<number> {
  // Passwords, keys and packages on hold are nobody else's business; the published trees are opened explicitly.
  process.umask(0o077)
  const [role = 'service', ...ports] = process.argv.slice(2)
  const isChild = role === 'api' || role === 'listener'
  if (!ROLES.has(role)) throw new StartError(`the argument must be one of ${[...ROLES].join(', ')}`)
  const isService = role === 'service' || role === 'api'
  const service = isService ? readEnv(process.env) : null
  const { env, warnings } = service ?? readListenerEnv(process.env)
  const isParent = !isChild && env.serveProcesses > 1
  const file = logFileOf(env)
  const log = createProcessLog(env.logLevel, isParent ? 'parent' : isService ? 'service' : 'listener', file)
  // Also when the process ends by an error; a killed one loses the lines of half a second.
  process.on('exit', () => file?.flushNow())
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'unhandled rejection'))
  if (!isChild) for (const warning of warnings) log.warn(warning)

  if (isParent) {
    const { runParent } = await import('./run-parent.ts')
    return runParent({ env, log, source: process.env, main: import.meta.filename, withApi: isService })
  }
  if (!service) {
    const { runListener } = await import('./run-listener.ts')
    return runListener({ env, clock, log, isChild })
  }
  const { runService } = await import('./run-service.ts')
  const [apt, rpm] = ports.map(Number)
  return runService({ env: service.env, clock, log, servedAt: apt && rpm ? { apt, rpm } : null })
}

function logFileOf({ logFiles, logFileMb, logFileDays, accessLogDir }: ListenerEnv) {
  if (logFiles === 0) return null
  return createLogFile({
    ...{ directory: accessLogDir, clock, mostFiles: logFiles, mostDays: logFileDays },
    mostBytes: logFileMb * 1024 * 1024,
    // It cannot be logged in the log that fails.
    onFailure: (error) => process.stderr.write(`the log file cannot be written: ${String(error)}\n`),
  })
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${startFailure(error)}\n`)
    process.exit(1)
  },
)
