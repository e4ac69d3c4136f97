// The process: environment and role in, exit code out.
import { readFileSync } from 'node:fs'
import { tellSystemd } from './app/systemd.ts'
import { readEnv, readListenerEnv, type ListenerEnv } from './config/env.ts'
import { systemClock as clock } from './kernel/clock.ts'
import { createLogFile } from './kernel/log-file.ts'
import { lookForRemote } from './kernel/remote.ts'
import { createProcessLog } from './kernel/log.ts'
import { StartError, startFailure } from './kernel/start-error.ts'
import { watchUncaught } from './kernel/uncaught.ts'

/** Instead of 4: these threads only wait. https://docs.libuv.org/en/v1.x/threadpool.html */
const THREADS_WHEN_REMOTE = 64

const ROLES = new Set(['service', 'serve', 'api', 'listener'])

/**
 * The first argument is the role. A role loads only the code it needs.
 * - none or `service`: the whole service, in this process or as the parent of several
 * - `serve`: only the repositories, in this process or as the parent of several
 * - `api <apt port> <rpm port>`, `listener`: a child of one of these two
 */
async function main(): Promise<number> {
  requireNode()
  // Other users must not read passwords, keys and held packages; the published trees are opened explicitly.
  process.umask(0o077)
  const [role = 'service', ...ports] = process.argv.slice(2)
  const isChild = role === 'api' || role === 'listener'
  if (!ROLES.has(role)) throw new StartError(`the argument must be one of ${[...ROLES].join(', ')}`)
  const isService = role === 'service' || role === 'api'
  const service = isService ? readEnv(process.env) : null
  const { env, warnings } = service ?? readListenerEnv(process.env)
  const remote = lookForRemote([env.reposDir, env.accessLogDir])
  // Before anything uses the pool. Each stalled operation on a remote file system occupies a thread.
  if (remote.length > 0) process.env['UV_THREADPOOL_SIZE'] ??= String(THREADS_WHEN_REMOTE)
  const isParent = !isChild && env.serveProcesses > 1
  const file = logFileOf(env)
  const log = createProcessLog(env.logLevel, isParent ? 'parent' : isService ? 'service' : 'listener', file)
  // Also when an error ends the process; a killed process loses the lines of half a second.
  process.on('exit', () => file?.flushNow())
  const uncaught = watchUncaught({ log })
  if (!isChild) for (const warning of warnings) log.warn(warning)
  if (!isChild && remote.length > 0)
    log.info({ directories: remote }, 'on a remote file system: every operation uses a thread')

  const ready = () => tellSystemd(process.env['NOTIFY_SOCKET'], log)
  if (isParent) {
    const { runParent } = await import('./app/run-parent.ts')
    const { filename: main } = import.meta
    return uncaught.exitCode(
      await runParent({ env, log, uncaught, source: process.env, main, withApi: isService, ready }),
    )
  }
  if (!service) {
    const { runListener } = await import('./app/run-listener.ts')
    return uncaught.exitCode(await runListener({ env, clock, log, uncaught, isChild, ready }))
  }
  const { runService } = await import('./app/run-service.ts')
  const [apt, rpm] = ports.map(Number)
  const servedAt = apt && rpm ? { apt, rpm } : null
  return uncaught.exitCode(await runService({ env: service.env, log, uncaught, servedAt, ready }))
}

/** All other ways to start the built code bring the pinned Node (bin/runtime.mjs, deploy/package). */
function requireNode(): void {
  const { config } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    config: { oldestNodeMajor: string }
  }
  if (Number.parseInt(process.versions.node) >= Number(config.oldestNodeMajor)) return
  throw new StartError(`this is Node ${process.versions.node}; ${config.oldestNodeMajor} or later is needed`)
}

function logFileOf({ logFiles, logFileMb, logFileDays, accessLogDir }: ListenerEnv) {
  if (logFiles === 0) return null
  return createLogFile({
    ...{ directory: accessLogDir, clock, mostFiles: logFiles, mostDays: logFileDays },
    mostBytes: logFileMb * 1024 * 1024,
    // The failing log cannot contain this message.
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
