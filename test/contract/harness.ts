// Starts the whole service in this process, listening on loopback, with a user and an API token for each role.
import { generateKeyPair } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import bcrypt from '@node-rs/bcrypt'
import * as openpgp from 'openpgp'
import { createApp, type App } from '../../src/app/app.ts'
import { readEnv } from '../../src/config/env.ts'
import { ROLES, type Role } from '../../src/domain/roles.ts'
import type { Overrides } from '../../src/app/wiring/engines.ts'
import type { Clock } from '../../src/kernel/clock.ts'
import { createLog } from '../../src/kernel/log.ts'
import { migrate, openDatabase, type Db } from '../../src/store/db.ts'
import { createTestDatabase } from '../database.ts'
import { createDeclaredCheck } from './declared.ts'
import { form, send, type Reply, type Sent } from './http.ts'

export const PASSWORD = 'Contract-pass-1'
/** The seeded admin, in addition to the user `admin-person`. */
export const ROOT = 'root-admin'
export const API = '/api/v1'

/** A clock that moves only when a test advances it. */
export interface TestClock extends Clock {
  advance(ms: number): void
}

export interface Person {
  username: string
  session: string
  token: string
  tokenId: string
}

export interface CallOptions {
  /** a credential; null for none; by default the session of the admin */
  as?: string | null
  /** sent as JSON unless it is a byte array */
  body?: unknown
  headers?: Record<string, string>
  headOnly?: boolean
}

export interface Gate {
  app: App
  port: number
  consolePort: number
  /** port of the listener for apt clients */
  aptPort: number
  clock: TestClock
  reposDir: string
  /** what was logged at level error or above, parsed */
  errors: Record<string, unknown>[]
  people: Record<Role, Person>
  /**
   * @param path from the root; below `/api/v1` when it begins with neither `/api` nor a root route
   * @throws when the reply does not match the declaration of the route
   */
  call<T = Record<string, unknown>>(method: string, path: string, options?: CallOptions): Promise<Reply<T>>
  /** @returns a new session */
  login(username: string, password?: string): Promise<string>
  upload<T = Record<string, unknown>>(
    file: Uint8Array,
    fields: Record<string, string>,
    options?: { as?: string; query?: string },
  ): Promise<Reply<T>>
  /** Stops the service, once. Its files stay until `close`. */
  stop(): Promise<void>
  close(): Promise<void>
}

export interface GateOptions {
  /** dependencies that replace those of the deployment */
  overrides?: Overrides
  env?: Record<string, string | undefined>
  /** Changes the migrated database before the service opens it. */
  prepare?: (db: Db) => Promise<void>
  /** false: the service listens but is not started */
  start?: boolean
  /** false: only the admin of the environment variables is created */
  people?: boolean
}

const ROOT_PATHS = /^\/(api|health|metrics|docs|redoc|openapi\.json|webhooks|cli|npm|pypi)(\/|\?|$)/

export function createTestClock(): TestClock {
  let time = Date.now()
  return {
    now: () => new Date(time),
    advance: (ms) => void (time += ms),
  }
}

export async function startGate(options: GateOptions = {}): Promise<Gate> {
  const base = await mkdtemp(join(tmpdir(), 'gatehouse-contract-'))
  const reposDir = join(base, 'repos')
  await placeKeys(join(reposDir, 'gnupg'))
  const database = await databaseFor(base, options.prepare)
  const errors: Gate['errors'] = []
  const log = createLog('error', { write: (line) => void errors.push(JSON.parse(line) as Record<string, unknown>) })
  const clock = createTestClock()
  const { env } = readEnv({
    ENV: 'development',
    DATABASE_URL: database.url,
    REPOS_DIR: reposDir,
    REPO_FORMAT: 'apt',
    JWT_SECRET_KEY: 'a-secret-of-the-contract-suite-of-some-length',
    SETTINGS_ENCRYPTION_KEY: 'another-secret-of-the-contract-suite',
    BIND_HOST: '127.0.0.1',
    BACKEND_PORT: '0',
    FRONTEND_PORT: '0',
    APT_PORT: '0',
    RPM_REPO_PORT: '0',
    RATE_LIMIT_FACTOR: '100000',
    ADMIN_USERNAME: ROOT,
    ADMIN_PASSWORD_HASH: await bcrypt.hash(PASSWORD, 4),
    SVC_OSV_URL: 'none',
    SVC_EPSS_URL: 'none',
    SVC_KEV_URL: 'none',
    // Nobody listens on the discard port, so the built-in sources are not read from the Internet for minutes.
    HTTP_PROXY: 'http://127.0.0.1:9',
    HTTPS_PROXY: 'http://127.0.0.1:9',
    NO_PROXY: '127.0.0.1,localhost',
    ...options.env,
  })
  const app = await createApp({ env, clock, log, ...(options.overrides ? { overrides: options.overrides } : {}) })
  const { api: port, console: consolePort, apt: aptPort } = await app.listen()
  if (options.start !== false) await app.start()

  const check = createDeclaredCheck(app.routes)
  let stopped: Promise<void> | null = null

  const gate: Gate = {
    app,
    port,
    consolePort,
    aptPort,
    clock,
    reposDir,
    errors,
    people: {} as Gate['people'],
    async call<T>(
      method: string,
      path: string,
      { as = gate.people.admin?.session ?? null, body, headers = {}, headOnly }: CallOptions = {},
    ) {
      const bytes = body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body)
      const sent: Sent = {
        method,
        path: ROOT_PATHS.test(path) ? path : `${API}${path}`,
        headers: {
          ...(as === null ? {} : { authorization: `Bearer ${as}` }),
          ...(typeof bytes === 'string' ? { 'content-type': 'application/json' } : {}),
          ...headers,
        },
        ...(bytes === undefined ? {} : { body: bytes }),
        ...(headOnly === undefined ? {} : { headOnly }),
      }
      const reply = await send(port, sent)
      check(method, sent.path, reply)
      return reply as Reply<T>
    },
    async login(username, password = PASSWORD) {
      const { status, body } = await gate.call('POST', '/auth/token', { as: null, body: { username, password } })
      if (status !== 200) throw new Error(`${username} could not log in: ${JSON.stringify(body)}`)
      return body['access_token'] as string
    },
    upload(file, fields, { as, query = '' } = {}) {
      const { body, headers } = form([
        ...Object.entries(fields).map(([name, value]) => ({ name, value })),
        { name: 'file', value: file, filename: 'sample.deb' },
      ])
      return gate.call('POST', `/upload/${query}`, { body, headers, ...(as === undefined ? {} : { as }) })
    },
    stop: () => (stopped ??= app.close()),
    async close() {
      await gate.stop()
      await database.close()
      await rm(base, { recursive: true, force: true })
    },
  }
  if (options.people !== false) await invite(gate)
  return gate
}

/** Creates a user, a session and an API token for every role. */
export async function invite(gate: Gate): Promise<void> {
  const root = await gate.login(ROOT)
  for (const role of ROLES) {
    const username = `${role}-person`
    const user = await gate.call('POST', '/auth/users', { as: root, body: { username, password: PASSWORD, role } })
    const token = await gate.call('POST', '/auth/api-tokens', { as: root, body: { name: `${role}-robot`, role } })
    if (user.status !== 201 || token.status !== 201) throw new Error(`no ${role}: ${user.text} ${token.text}`)
    gate.people[role] = {
      username,
      session: await gate.login(username),
      token: token.body['token'] as string,
      tokenId: token.body['token_id'] as string,
    }
  }
}

/** PGlite in memory (on disk when `prepare` is given), or a new database on the server of TEST_DATABASE_URL. */
async function databaseFor(
  base: string,
  prepare: GateOptions['prepare'],
): Promise<{ url: string; close(): Promise<void> }> {
  if (process.env['TEST_DATABASE_URL']) {
    const database = await createTestDatabase()
    await prepare?.(database.db)
    return database
  }
  if (!prepare) return { url: 'pglite://memory', close: async () => {} }
  const url = `pglite://${join(base, 'db')}`
  const database = await openDatabase(url)
  await migrate(database.db)
  await prepare(database.db)
  await database.close()
  return { url, close: async () => {} }
}

let keys: Promise<{ openpgp: string; apk: string }> | null = null

/** Keys of half the usual length take a tenth of the time. All services of this process use the same pair. */
async function placeKeys(directory: string): Promise<void> {
  keys ??= makeKeys()
  const { openpgp: signing, apk } = await keys
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await writeFile(join(directory, 'signing-key.asc'), signing, { mode: 0o600 })
  await writeFile(join(directory, 'svc.rsa'), apk, { mode: 0o600 })
}

async function makeKeys(): Promise<{ openpgp: string; apk: string }> {
  const [pgp, rsa] = await Promise.all([
    openpgp.generateKey({
      type: 'rsa',
      rsaBits: 2048,
      userIDs: [{ name: 'Contract suite' }],
      format: 'armored',
      subkeys: [],
    }),
    promisify(generateKeyPair)('rsa', { modulusLength: 2048 }),
  ])
  return { openpgp: pgp.privateKey, apk: rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }) }
}
