// The process: environment in, exit code out.
import { createApp } from './app.ts'
import { EnvironmentError, readEnv } from './config/env.ts'
import { systemClock } from './kernel/clock.ts'
import { createLog } from './kernel/log.ts'

async function main(): Promise<void> {
  const { env, warnings } = readEnv(process.env)
  const log = createLog(env.logLevel)
  for (const warning of warnings) log.warn(warning)
  const app = await createApp({ env, clock: systemClock, log })
  let stopping = false
  const stop = (signal: string) => {
    if (stopping) return
    stopping = true
    log.info({ signal }, 'stopping')
    app.close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.fatal({ err: error }, 'could not stop cleanly')
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'unhandled rejection'))
  const ports = await app.listen()
  log.info({ ports, host: env.bindHost }, 'listening')
  await app.start()
  log.info({ fingerprint: app.fingerprint }, 'ready')
}

main().catch((error: unknown) => {
  if (error instanceof EnvironmentError) process.stderr.write(`${error.message}\n`)
  else
    process.stderr.write(`cannot start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  process.exit(1)
})
