// A real S3 server with a temporary directory (versitygw), which suites can stop and start again.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { accepts, freePort } from '../ports.ts'

export interface ObjectServer {
  endpoint: string
  /** `POOL_URL` and its credentials */
  env: Record<string, string>
  /** the same with another prefix */
  envOf(prefix: string): Record<string, string>
  credentials: { accessKeyId: string; secretAccessKey: string }
  start(): Promise<void>
  /** kills the server; its objects stay */
  kill(): Promise<void>
  /** The server accepts connections but does not answer. @returns a function that ends this */
  freeze(): () => void
  /** Kills it once it has received or sent this many further bytes. @returns when it has ended */
  killAfter(direction: 'received' | 'sent', bytes: number): Promise<void>
  /** keys of all objects below the prefix, or below another one */
  keys(prefix?: string): Promise<string[]>
  /** Copies the objects below a prefix to another one. */
  copy(from: string, to: string): Promise<void>
  /** the file with the content of an object */
  pathOf(key: string): string
  remove(): Promise<void>
}

type Direction = 'received' | 'sent'

const BUCKET = 'packages'
const PREFIX = 'gate/one'
const START_MS = 120_000

/** Starts the server on a free port. */
export async function startObjectServer(): Promise<ObjectServer> {
  const script = join(import.meta.dirname, 'versitygw.sh')
  const program = execFileSync('sh', [script], { encoding: 'utf8' }).trim()
  const base = await mkdtemp(join(tmpdir(), 'objects-'))
  const objects = join(base, 'objects')
  const directory = join(objects, BUCKET, PREFIX)
  await mkdir(join(objects, BUCKET), { recursive: true })
  await mkdir(join(base, 'meta'))
  const port = await freePort()
  const inner = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  const credentials = { accessKeyId: 'test-access-key', secretAccessKey: 'test-secret-key-0123456789' }
  let running: ChildProcess | null = null
  let proxy: Server | null = null
  const sockets = new Set<Socket>()
  let limit: { direction: Direction; bytes: number; reached(): void } | null = null

  /** Connections go through this process, which counts their bytes. */
  async function open(): Promise<void> {
    const count = (direction: Direction) => (piece: Buffer) => {
      if (limit?.direction !== direction || (limit.bytes -= piece.length) > 0) return
      const { reached } = limit
      limit = null
      reached()
    }
    const listening = createServer((client) => {
      const server = connect(inner, '127.0.0.1')
      client.on('data', count('received'))
      server.on('data', count('sent'))
      for (const [one, other] of [
        [client, server],
        [server, client],
      ] as const) {
        sockets.add(one)
        one.on('error', () => other.destroy())
        one.on('close', () => {
          sockets.delete(one)
          other.destroy()
        })
        one.pipe(other)
      }
    })
    proxy = listening
    await once(listening.listen(port, '127.0.0.1'), 'listening')
  }

  async function start(): Promise<void> {
    const { accessKeyId, secretAccessKey } = credentials
    const child = spawn(
      program,
      ['--port', `127.0.0.1:${inner}`, '--quiet', '--keep-alive', 'posix', '--sidecar', join(base, 'meta'), objects],
      {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { PATH: process.env['PATH'], ROOT_ACCESS_KEY_ID: accessKeyId, ROOT_SECRET_ACCESS_KEY: secretAccessKey },
      },
    )
    running = child
    for (const end = Date.now() + START_MS; !(await accepts(inner));) {
      if (child.exitCode !== null || Date.now() > end) throw new Error(`versitygw does not listen (${child.exitCode})`)
      await delay(50)
    }
    await open()
  }

  async function kill(): Promise<void> {
    proxy?.close()
    proxy = null
    for (const socket of sockets) socket.destroy()
    if (running?.exitCode === null && running.signalCode === null) {
      const exited = once(running, 'exit')
      running.kill('SIGKILL')
      await exited
    }
    running = null
  }

  const envOf = (prefix: string) => ({
    POOL_URL: `s3://${BUCKET}/${prefix}?endpoint=${encodeURIComponent(endpoint)}`,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  })

  await start()
  return {
    endpoint,
    env: envOf(PREFIX),
    envOf,
    credentials,
    start,
    kill,
    freeze() {
      const frozen = running
      frozen?.kill('SIGSTOP')
      return () => void frozen?.kill('SIGCONT')
    },
    killAfter: (direction, bytes) =>
      new Promise((resolve, reject) => {
        limit = { direction, bytes, reached: () => void kill().then(resolve, reject) }
      }),
    async keys(prefix = PREFIX) {
      const directory = join(objects, BUCKET, prefix)
      const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => [])
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
        .sort()
    },
    async copy(from, to) {
      for (const place of [join(objects, BUCKET), join(base, 'meta', BUCKET)])
        await cp(join(place, from), join(place, to), { recursive: true })
    },
    pathOf: (key) => join(directory, key),
    async remove() {
      await kill()
      await rm(base, { recursive: true, force: true })
    },
  }
}
