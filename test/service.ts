// The real service as a child process on free ports, for suites that use it from outside.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { once } from 'node:events'
import { SERVICE_ENV } from '../bin/service-env.mjs'
import bcrypt from '@node-rs/bcrypt'

const ROOT = join(import.meta.dirname, '..')
export const ADMIN = { username: 'admin', password: 'Admin-pass-1' }
/** A start takes 2 to 4 s. A virtual machine that shares its processors stalled a start for more than a minute. */
const START_MS = 240_000

export interface Service {
  api: string
  console: string
  apt: string
  rpm: string
  reposDir: string
  databaseUrl: string
  process: ChildProcess
  /** every log line since the start, parsed where it is JSON */
  log: (Record<string, unknown> | string)[]
  /** an admin's session */
  token: string
  /** a request to the API with the admin's session, unless `headers` names another */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; headers: Headers; body: any }>
  upload(
    file: Uint8Array,
    filename: string,
    fields: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<{ status: number; headers: Headers; body: any }>
  /** resolves when the process has ended; null code after a signal */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** SIGTERM and wait. @returns the exit code */
  stop(): Promise<number | null>
  kill(): Promise<void>
}

export interface ServiceOptions {
  /** kept when given; by default a temporary directory that `stop` leaves and `removeTemporary` removes */
  reposDir?: string
  databaseUrl?: string
  env?: Record<string, string>
  /** the directory of another build */
  root?: string
  /** neither waits for readiness nor logs in: for starts that are expected to fail */
  raw?: boolean
  /** a known credential: nobody logs in */
  token?: string
  /** V8 optimizes the embedded database, as for users; for suites that measure. It takes a third of a start's processor time. */
  optimized?: boolean
}

const temporary: string[] = []

/** Removes the temporary directories of this process's services. */
export async function removeTemporary(): Promise<void> {
  for (const path of temporary.splice(0)) await rm(path, { recursive: true, force: true })
}

let adminHash: Promise<string> | null = null

/** Needs a built `dist/`. Rate limits are raised unless `env` sets RATE_LIMIT_FACTOR. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  let { reposDir } = options
  const { root = ROOT } = options
  if (!reposDir) {
    const base = await mkdtemp(join(tmpdir(), 'gatehouse-'))
    temporary.push(base)
    reposDir = join(base, 'repos')
  }
  const databaseUrl = options.databaseUrl ?? `pglite://${join(reposDir, '..', 'db')}`
  adminHash ??= bcrypt.hash(ADMIN.password, 4)
  const flags = ['--enable-source-maps', ...(options.optimized ? [] : ['--liftoff-only'])]
  const child = spawn(process.execPath, [...flags, join(root, 'dist', 'main.js')], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...SERVICE_ENV,
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ENV: 'development',
      DATABASE_URL: databaseUrl,
      REPOS_DIR: reposDir,
      BIND_HOST: '127.0.0.1',
      BACKEND_PORT: '0',
      FRONTEND_PORT: '0',
      APT_PORT: '0',
      RPM_REPO_PORT: '0',
      JWT_SECRET_KEY: 'a-secret-of-the-test-suites-with-some-length',
      WEBHOOK_SECRET: 'another-secret-of-the-test-suites-0123',
      ADMIN_USERNAME: ADMIN.username,
      ADMIN_PASSWORD_HASH: await adminHash,
      RATE_LIMIT_FACTOR: '100000',
      LOG_LEVEL: 'info',
      SVC_OSV_URL: 'none',
      SVC_EPSS_URL: 'none',
      SVC_KEV_URL: 'none',
      ...options.env,
    },
  })
  const log: Service['log'] = []
  const exited = once(child, 'exit').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }))
  let isStopping = false
  void exited.then(({ code, signal }) => {
    // Some suites kill it, or make it kill itself.
    if (!options.raw && !isStopping && signal !== 'SIGKILL')
      console.error(`the service ended by itself: ${JSON.stringify({ code, signal })}\n${tail(log)}`)
  })
  let late: NodeJS.Timeout | undefined
  const listening = new Promise<{ ports: { api: number; console: number; apt: number; rpm: number } }>(
    (resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        const entry = parse(line)
        log.push(entry)
        if (typeof entry === 'object' && entry['msg'] === 'listening') resolve(entry as never)
        if (typeof entry === 'object' && entry['msg'] === 'ready') readied()
      })
      createInterface({ input: child.stderr }).on('line', (line) => log.push(line))
      void exited.then(({ code }) =>
        reject(new Error(`the service ended with ${code} before it listened:\n${tail(log)}`)),
      )
      late = setTimeout(() => {
        child.kill('SIGKILL')
        reject(new Error(`the service did not listen in time:\n${tail(log)}`))
      }, START_MS)
      late.unref()
    },
  ).finally(() => clearTimeout(late))
  let readied!: () => void
  const ready = new Promise<void>((resolve) => (readied = resolve))
  if (options.raw) listening.catch(() => {})
  const ports = options.raw ? { api: 0, console: 0, apt: 0, rpm: 0 } : (await listening).ports
  const service: Service = {
    api: `http://127.0.0.1:${ports.api}`,
    console: `http://127.0.0.1:${ports.console}`,
    apt: `http://127.0.0.1:${ports.apt}`,
    rpm: `http://127.0.0.1:${ports.rpm}`,
    reposDir,
    databaseUrl,
    process: child,
    log,
    token: '',
    async call(method, path, body, headers = {}) {
      return answer(
        await fetch(
          `${service.api}${path.startsWith('/health') || path.startsWith('/metrics') ? '' : '/api/v1'}${path}`,
          {
            method,
            headers: {
              authorization: `Bearer ${service.token}`,
              ...(body === undefined ? {} : { 'content-type': 'application/json' }),
              ...headers,
            },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          },
        ),
      )
    },
    async upload(file, filename, fields, headers = {}) {
      const form = new FormData()
      for (const [name, value] of Object.entries(fields)) form.set(name, value)
      form.set('file', new Blob([file as Uint8Array<ArrayBuffer>]), filename)
      return answer(
        await fetch(`${service.api}/api/v1/upload/`, {
          method: 'POST',
          body: form,
          headers: { authorization: `Bearer ${service.token}`, ...headers },
        }),
      )
    },
    exited,
    async stop() {
      isStopping = true
      child.kill('SIGTERM')
      return (await exited).code
    },
    async kill() {
      isStopping = true
      child.kill('SIGKILL')
      await exited
    },
  }
  if (options.token !== undefined) service.token = options.token
  if (!options.raw) await Promise.race([ready, exited])
  if (!options.raw && options.token === undefined) {
    const login = await service.call('POST', '/auth/token', ADMIN, { authorization: '' })
    if (login.status !== 200) throw new Error(`the admin could not log in: ${JSON.stringify(login.body)}\n${tail(log)}`)
    service.token = login.body.access_token as string
  }
  return service
}

async function answer(response: Response): Promise<{ status: number; headers: Headers; body: any }> {
  const text = await response.text()
  let body: unknown = text
  try {
    body = JSON.parse(text)
  } catch {
    // not every answer is JSON
  }
  return { status: response.status, headers: response.headers, body }
}

function parse(line: string): Record<string, unknown> | string {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return line
  }
}

function tail(log: Service['log']): string {
  return log
    .slice(-20)
    .map((entry) => (typeof entry === 'string' ? entry : JSON.stringify(entry)))
    .join('\n')
}
