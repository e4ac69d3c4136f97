// Test fixture: the accounts wired together over a test database, with a clock and delays that tests control.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Value from 'typebox/value'
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import { SettingsSchema, type Settings } from '../domain/settings.ts'
import { isProblem } from '../domain/problem.ts'
import { createAuditLog } from '../audit/log.ts'
import { openDatabase, type Database, type Db } from '../store/db.ts'
import { createHttpClient } from '../kernel/http-client.ts'
import { createSecretBox, type SecretBox } from '../kernel/crypto.ts'
import { createAuthenticate } from './authenticate.ts'
import { createCodes } from './codes.ts'
import { createDeviceSignIn } from './device-sign-in.ts'
import { createJwt, type JwtAlgorithm } from './jwt.ts'
import type { Directory } from './ldap/directory.ts'
import { createEnrolments } from './machines/enrolments.ts'
import { createMachines } from './machines/machines.ts'
import { createFactsWriter } from './readers/facts-writer.ts'
import { createReaders } from './readers/readers.ts'
import { newFactsKey, publicFactsKey } from '../serve/access/facts.ts'
import { createMembership } from './ldap/membership.ts'
import { createLdapLogin } from './ldap/ldap-login.ts'
import { createMfa } from './mfa.ts'
import { createLogin } from './login.ts'
import { createEndSession } from './oidc/end-session.ts'
import { createExchange } from './oidc/exchange.ts'
import { createGuardedFetch } from './oidc/guarded-fetch.ts'
import { createOidcLogin } from './oidc/oidc-login.ts'
import { createProviders } from './oidc/providers.ts'
import { createOidcTest } from './oidc/test-login.ts'
import { createOwnAccount } from './own-account.ts'
import { createPasswordReset, type ResetRecipient } from './password-reset.ts'
import { createPasswords, type Passwords } from './passwords.ts'
import { createSecondStep } from './second-step.ts'
import { createSessions } from './sessions.ts'
import { createSetup, type CheckResult, type PreflightCheck } from './setup.ts'
import { createSlowing } from './slowing.ts'
import { createTokens } from './tokens.ts'
import { createUsers } from './users.ts'

export const ORIGIN: Origin = { ip: '203.0.113.7', requestId: 'r-1' }
export const JWT_SECRET = 'a secret of the tests, long enough for HS512 to be content'
export const GOOD = 'Correct-horse-1'
export const OTHER = 'Another-horse-2'

/** The settings of a new installation. */
export const DEFAULTS = Value.Create(SettingsSchema) as Settings

const fine = async (): Promise<CheckResult> => ({ ok: true, detail: 'fine' })

/** The accounts of one process; several may share a database. */
export async function createAccounts(
  db: Db,
  options: {
    algorithm?: JwtAlgorithm
    setupToken?: string
    passwords?: Passwords
    secretBox?: SecretBox
    settings?: Settings
    /** false: identity providers must not have addresses of this machine, as in production */
    privateProviders?: boolean
    keysCooldownMs?: number
    isLicensed?: boolean
    directory?: Directory
    checks?: Partial<Record<PreflightCheck, () => Promise<CheckResult>>>
  } = {},
) {
  const time = { ms: Date.parse('2026-03-01T12:00:00Z') }
  const clock = { now: () => new Date(time.ms) }
  const waits: number[] = []
  const delivered: { user: ResetRecipient; token: string }[] = []
  const appUrls: string[] = []
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-accounts-'))
  const audit = createAuditLog({ key: 'k', db, clock, directory, checkpoint: () => {}, mayFile: () => false, onError })
  const wait = async (ms: number, signal?: AbortSignal) => {
    waits.push(ms)
    await new Promise((resolve) => setImmediate(resolve))
    signal?.throwIfAborted()
  }
  const changing = { db, audit, onError, clock }
  const passwords = options.passwords ?? createPasswords()
  const slowing = createSlowing({ clock, wait })
  const jwt = createJwt({ clock, secret: JWT_SECRET, algorithm: options.algorithm ?? 'HS256' })
  const settings = () => options.settings ?? DEFAULTS
  const directoryOf: Directory = options.directory ?? {
    check: async () => ({ refused: 'no directory' }),
    look: async () => ({ refused: 'no directory' }),
    test: async () => ({ status: 'ok', message: '' }),
  }
  const isLicensed = () => options.isLicensed ?? true
  const membership = createMembership({ ...changing, settings, isLicensed, directory: directoryOf })
  const http = createHttpClient({ allowPrivate: options.privateProviders ?? true })
  const providerFetch = createGuardedFetch(http, false)
  const providers = createProviders({
    clock,
    fetch: providerFetch,
    allowHttp: true,
    ...(options.keysCooldownMs === undefined ? {} : { keysCooldownMs: options.keysCooldownMs }),
  })
  const sessions = createSessions({
    ...{ ...changing, jwt, expireMinutes: 60, settings, confirm: membership.confirm },
    endSessionUrl: createEndSession({ settings, providers }),
  })
  const secretBox = options.secretBox ?? createSecretBox('the settings key of the tests')
  const codes = createCodes({ ...changing, secretBox })
  const secondStep = createSecondStep({ ...changing, jwt, sessions, codes, slowing })
  const authenticate = createAuthenticate({
    db,
    clock,
    sessions,
    settings,
    publishers: () => settings().trusted_publishing.publishers,
  })
  const ldap = createLdapLogin({
    ...changing,
    settings,
    isLicensed,
    directory: directoryOf,
    secondStep,
  })
  const login = createLogin({ ...changing, passwords, secondStep, slowing, ldap })
  const setup = createSetup({
    ...changing,
    passwords,
    sessions,
    setupToken: options.setupToken,
    checks: {
      database: fine,
      disk_space: fine,
      antivirus: fine,
      vulnscan: fine,
      secrets: fine,
      tls: fine,
      ...options.checks,
    },
    saveAppUrl: async (url) => {
      if (url.includes('unsavable')) throw new Error('settings are read-only')
      appUrls.push(url)
    },
  })
  const privateKey = newFactsKey()
  const factsWriter = createFactsWriter({ db, clock, settings, directory, privateKey, onError: () => {} })
  const accounts = {
    factsWriter,
    machines: createMachines(changing),
    enrolments: createEnrolments(changing),
    readers: createReaders({ ...changing, changed: factsWriter.write }),
    login,
    sessions,
    membership,
    secondStep,
    oidc: createOidcLogin({ ...changing, settings, providers, secondStep }),
    testOidc: createOidcTest({ settings, providers, fetch: providerFetch }),
    deviceSignIn: createDeviceSignIn({ ...changing, settings, sessions }),
    exchange: createExchange({ ...changing, settings, providers }),
    mfa: createMfa({ ...changing, secretBox, codes, passwords, slowing }),
    setup,
    ownAccount: createOwnAccount({ ...changing, passwords, slowing }),
    passwordReset: createPasswordReset({
      ...changing,
      passwords,
      deliverReset: async (user, token) => void delivered.push({ user, token }),
    }),
    users: createUsers({ ...changing, passwords }),
    tokens: createTokens(changing),
  }

  return {
    ...accounts,
    authenticate,
    passwords,
    db,
    waits,
    delivered,
    appUrls,
    errors,
    clock,
    /** where the facts about access are, and the key of their signature */
    directory,
    factsKey: publicFactsKey(privateKey),
    pass: (ms: number) => void (time.ms += ms),
    now: () => time.ms,
    /** Logs in and authenticates: the caller a route would see. */
    async signIn(username: string, password = GOOD): Promise<Caller> {
      return authenticate(`Bearer ${(await login({ username, password }, ORIGIN)).access_token}`)
    },
    /** Action, result, user and detail of all entries since the last call, in order. */
    async audited() {
      const rows = await db.selectFrom('audit').selectAll().orderBy('id').execute()
      await db.deleteFrom('audit').execute()
      return rows.map((row) => ({
        action: row.action,
        result: row.result,
        user: row.username,
        detail: row.detail,
        extra: row.extra,
        ip: row.ip,
      }))
    },
    /** Waits for work that nobody awaits, before the database is closed. */
    async close() {
      await accounts.passwordReset.settled()
      await audit.flush().catch(onError)
      await http.close()
      await rm(directory, { recursive: true })
    },
  }
}
export type Accounts = Awaited<ReturnType<typeof createAccounts>>

/** An admin that is not a user, so that the rules of self-protection do not apply when tests are prepared. */
export const ROOT: Caller = {
  kind: 'token',
  name: 'token:root',
  role: 'admin',
  ownerId: 0,
  credentialId: 'none',
  principal: 'token:none',
}

/** Another process on the same database: a pool of its own on PostgreSQL; PGlite has only one session. */
export async function otherProcess(database: Database & { url: string }): Promise<{ db: Db; close(): Promise<void> }> {
  return database.engine === 'postgres' ? openDatabase(database.url) : { db: database.db, close: async () => {} }
}

/** `ok` for each promise that resolved, else the code of its Problem. */
export async function outcomes(work: Promise<unknown>[]): Promise<string[]> {
  const results = await Promise.allSettled(work)
  return results.map((result) => {
    if (result.status === 'fulfilled') return 'ok'
    if (isProblem(result.reason)) return result.reason.code
    throw result.reason
  })
}

/** The code of the Problem that the work throws; `ok` when it succeeds. */
export async function outcome(work: Promise<unknown>): Promise<string> {
  return (await outcomes([work]))[0] ?? ''
}
