// The process: environment in, exit code out.
import { createApp } from './app.ts'
import { readEnv } from './config/env.ts'
import { systemClock } from './kernel/clock.ts'
import { createLog } from './kernel/log.ts'
import { startFailure } from './kernel/start-error.ts'

async function main(): Promise<void> {
  // Passwords, keys and packages on hold are nobody else's business; the published trees are opened explicitly.
  process.umask(0o077)
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
  process.stderr.write(`${startFailure(error)}\n`)
  process.exit(1)
})
