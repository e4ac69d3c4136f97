// A real redis-server on a separate port, which a test kills and starts again.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { need } from '../need.ts'
import { accepts, freePort } from '../ports.ts'

export const REDIS_PASSWORD = 'redis-pass+word/1'

export interface RedisServer {
  /** with the password */
  url: string
  start(): Promise<void>
  /** SIGKILL */
  kill(): Promise<void>
  /** Stops the process without ending it: connections stay open, but nothing is answered. */
  pause(): void
  resume(): void
  remove(): Promise<void>
}

export async function startRedis(): Promise<RedisServer> {
  need('redis-server')
  const directory = await mkdtemp(join(tmpdir(), 'redis-'))
  const port = await freePort()
  let server: ChildProcess | null = null
  const redis: RedisServer = {
    url: `redis://:${encodeURIComponent(REDIS_PASSWORD)}@127.0.0.1:${port}`,
    async start() {
      const options = {
        port,
        bind: '127.0.0.1',
        dir: directory,
        save: '',
        appendonly: 'no',
        requirepass: REDIS_PASSWORD,
      }
      server = spawn(
        'redis-server',
        Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]),
        { stdio: 'ignore' },
      )
      while (!(await accepts(port)));
    },
    async kill() {
      if (!server || server.exitCode !== null || server.signalCode !== null) return
      const ended = once(server, 'exit')
      server.kill('SIGKILL')
      await ended
    },
    pause: () => void server?.kill('SIGSTOP'),
    resume: () => void server?.kill('SIGCONT'),
    async remove() {
      await redis.kill()
      await rm(directory, { recursive: true, force: true })
    },
  }
  await redis.start()
  return redis
}
