import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { EnvironmentError, readEnv, readListenerEnv, type Source } from './env.ts'
import { VARIABLES, type Variable } from './variables.ts'

const KEY = 'n7Qd0sR4vYx2LkPz8mWc5tJb1hGf6uEa'
const DEVELOPMENT: Source = {
  ENV: 'development',
  DATABASE_URL: 'pglite://data/db',
  JWT_SECRET_KEY: KEY,
  SETTINGS_ENCRYPTION_KEY: `s${KEY}`,
  WEBHOOK_SECRET: `w${KEY}`,
  SVC_LICENSE_VENDOR_KEY: 'vendor-81723',
}
const PRODUCTION: Source = {
  ...DEVELOPMENT,
  ENV: 'production',
  DATABASE_URL: 'postgres://gate:pw-92x@db/gatehouse',
  CLAMAV_HOST: 'clamd',
}

function faultsOf(source: Source): string[] {
  try {
    readEnv(source)
  } catch (error) {
    expect(error).toBeInstanceOf(EnvironmentError)
    return [...(error as EnvironmentError).faults]
  }
  return []
}

test.each(['development', 'production', undefined])('ENV %s starts with neither database nor signing secret', (ENV) => {
  const faults = faultsOf({ ...PRODUCTION, ENV, DATABASE_URL: '', JWT_SECRET_KEY: '  ' })
  expect(faults).toEqual(['DATABASE_URL is not set', 'JWT_SECRET_KEY is not set'])
})

const WEAK = [
  'changeme',
  'CHANGE-ME',
  'secret',
  'secret123',
  'password',
  'test',
  'repod_dev_password',
  'change-me-to-a-long-random-string-0123456789',
  'changemechangemechangemechangeme',
  '12345678',
]
describe('production refuses, and development only warns of,', () => {
  test.each([
    ...[
      ...['JWT_SECRET_KEY', 'WEBHOOK_SECRET', 'SVC_LICENSE_VENDOR_KEY'],
      ...['SETTINGS_ENCRYPTION_KEY', 'SETUP_TOKEN', 'METRICS_TOKEN'],
    ].flatMap((name) => WEAK.map((value): [string, string] => [name, value])),
    ['JWT_SECRET_KEY', KEY.slice(1)] as [string, string],
    ...['a'.repeat(32), 'k'.repeat(64), 'ab'.repeat(20), 'qwertyuiop'.repeat(4), KEY.slice(0, 4).repeat(10)].map(
      (value): [string, string] => ['JWT_SECRET_KEY', value],
    ),
    ['WEBHOOK_SECRET', 'aaaaaaaaaaaaaaaaaaaaaaaa'] as [string, string],
    ['SVC_LICENSE_VENDOR_KEY', '1234567890'] as [string, string],
    ['SETTINGS_ENCRYPTION_KEY', 'abc'] as [string, string],
    ['SETUP_TOKEN', '1'] as [string, string],
    ['METRICS_TOKEN', 'REPLACE'] as [string, string],
    ['DATABASE_URL', 'postgres://gatehouse:REPLACE@postgres/gatehouse'] as [string, string],
    ['WEBHOOK_SECRET', ''] as [string, string],
    ['SVC_LICENSE_VENDOR_KEY', ''] as [string, string],
  ])('%s "%s"', (name, value) => {
    const faults = faultsOf({ ...PRODUCTION, [name]: value })
    expect(faults).toHaveLength(1)
    expect(faults[0]).toMatch(new RegExp(`^${name} .*; production refuses it$`))
    const { warnings } = readEnv({ ...DEVELOPMENT, [name]: value })
    expect(
      warnings.filter((warning) => warning.startsWith(`${name} `) && warning.endsWith('production would refuse it')),
    ).toHaveLength(1)
  })
})

test.each([KEY, `${KEY}${KEY}`, 'test-secret-key-that-is-long-enough-0123456789'])(
  'production takes the secret %s',
  (secret) => {
    expect(faultsOf({ ...PRODUCTION, JWT_SECRET_KEY: secret })).toEqual([])
  },
)

test('production names every fault of the example of secrets at once', () => {
  const example = readFileSync(new URL('../../deploy/kubernetes/secret.example.yaml', import.meta.url), 'utf8')
  const secrets = [...example.matchAll(/^ {2}([A-Z_]+): (.*REPLACE.*)$/gm)].map(([, name = '', value]) => [name, value])
  const faults = faultsOf({ ...PRODUCTION, ...Object.fromEntries(secrets) })
  expect(secrets.length).toBeGreaterThan(4)
  expect(faults.map((fault) => fault.split(' ')[0]).sort()).toEqual(secrets.map(([name]) => name).sort())
})

test.each([
  ['0.0.0.0/0', false],
  ['10.0.0.1, ::/0', false],
  ['128.0.0.0/1', false],
  ['::ffff:0.0.0.0/96', false],
  ['10.0.0.0/8, 192.0.2.7, fc00::/7, ::ffff:10.0.0.0/104, ::1', true],
  ['none', true],
])('TRUSTED_PROXIES=%s is taken in production: %s', (TRUSTED_PROXIES, taken) => {
  const refusal = [expect.stringMatching(/^TRUSTED_PROXIES trusts \S+, where .*; production refuses it$/)]
  expect(faultsOf({ ...PRODUCTION, TRUSTED_PROXIES })).toEqual(taken ? [] : refusal)
  expect(faultsOf({ ...DEVELOPMENT, TRUSTED_PROXIES })).toEqual([])
  const listener = () => readListenerEnv({ ENV: 'production', TRUSTED_PROXIES })
  if (taken) expect(listener).not.toThrow()
  else expect(listener).toThrow(/TRUSTED_PROXIES trusts/)
})

test('the community edition needs no vendor key in production', () => {
  expect(faultsOf({ ...PRODUCTION, SVC_EDITION: 'community', SVC_LICENSE_VENDOR_KEY: '' })).toEqual([])
})

test('crash tests cannot be switched on in production', () => {
  expect(faultsOf({ ...PRODUCTION, GATEHOUSE_DIE_AT: 'staged' })).toEqual([
    'GATEHOUSE_DIE_AT is for crash tests; production refuses it',
  ])
})

test('several replicas on an embedded database are refused', () => {
  const faults = faultsOf({ ...DEVELOPMENT, JOB_STATE_BACKEND: 'redis', REDIS_URL: 'redis://r' })
  expect(faults).toEqual([expect.stringMatching(/^JOB_STATE_BACKEND redis means several replicas/)])
})

test('job state in Redis without an address is refused in production, and local with a warning in development', () => {
  expect(faultsOf({ ...PRODUCTION, JOB_STATE_BACKEND: 'redis' })).toEqual([
    'JOB_STATE_BACKEND is redis, but neither JOB_STATE_REDIS_URL nor REDIS_URL is set; production refuses it',
  ])
  const { env, warnings } = readEnv({ ...DEVELOPMENT, DATABASE_URL: 'postgres://x/y', JOB_STATE_BACKEND: 'redis' })
  expect(env.jobStateBackend).toBe('local')
  expect(warnings).toEqual([expect.stringMatching(/^JOB_STATE_BACKEND is redis, but neither/)])
})

test('two listeners on one port are refused, unless one of them serves a format that is off', () => {
  expect(faultsOf({ ...DEVELOPMENT, BACKEND_PORT: '3003' })).toEqual([
    'FRONTEND_PORT is 3003, the port of BACKEND_PORT',
  ])
  expect(faultsOf({ ...DEVELOPMENT, BACKEND_PORT: '8080' })).toEqual([])
  expect(faultsOf({ ...DEVELOPMENT, BACKEND_PORT: '8080', REPO_FORMAT: 'both' })).toHaveLength(1)
})

test('an administrator is seeded only from a name and a bcrypt hash together', () => {
  const hash = '$2y$12$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234'
  expect(readEnv({ ...DEVELOPMENT, ADMIN_USERNAME: 'root-admin', ADMIN_PASSWORD_HASH: hash })).toMatchObject({
    env: { adminPasswordHash: hash },
    warnings: [],
  })
  const plain = readEnv({ ...DEVELOPMENT, ADMIN_USERNAME: 'root-admin', ADMIN_PASSWORD_HASH: 'Hunter2!' })
  expect(plain.env.adminPasswordHash).toBeNull()
  expect(plain.warnings).toEqual([expect.stringMatching(/^ADMIN_PASSWORD_HASH is no bcrypt hash/)])
  expect(readEnv({ ...DEVELOPMENT, ADMIN_USERNAME: 'root-admin' }).warnings).toHaveLength(1)
})

test('no secret is ever repeated in a fault or a warning', () => {
  const marker = 'Zq9Marker'
  const secrets = (Object.values(VARIABLES) as Variable[]).filter((variable) => variable.secret)
  expect(secrets.length).toBeGreaterThan(10)
  for (const variable of secrets) {
    for (const value of [marker, `x://u:${marker}@h:99999999/`, `changeme${marker}`, `postgres://u:${marker}@h/d`]) {
      for (const base of [DEVELOPMENT, PRODUCTION]) {
        const source = { ...base, POSTGRES_PASSWORD: `${marker}2`, [variable.name]: value }
        let told = faultsOf(source).join()
        if (told === '') told = readEnv(source).warnings.join()
        expect(told).not.toContain(marker)
      }
    }
  }
})

describe('the object store', () => {
  const POOL_URL = 's3://packages/gate'
  const KEYS = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'hidden-7Qd0sR4v' }
  const NEEDS_KEYS = ['POOL_URL needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY']

  test.each<[string, Source, string[]]>([
    ['none', {}, []],
    // They may be in the environment for other reasons.
    ['keys alone', KEYS, []],
    ['an address with keys', { POOL_URL, ...KEYS }, []],
    ['an address with keys and redirects', { POOL_URL, ...KEYS, POOL_REDIRECT: 'true' }, []],
    ['an address alone', { POOL_URL }, NEEDS_KEYS],
    ['an address with half of the keys', { POOL_URL, AWS_ACCESS_KEY_ID: 'key' }, NEEDS_KEYS],
    ['an address with the other half', { POOL_URL, AWS_SECRET_ACCESS_KEY: KEYS.AWS_SECRET_ACCESS_KEY }, NEEDS_KEYS],
    ['redirects alone', { POOL_REDIRECT: 'true' }, ['POOL_REDIRECT needs POOL_URL']],
    ['an address that is none', { POOL_URL: 'packages', ...KEYS }, [expect.stringMatching(/^POOL_URL must be s3:/)]],
  ])('%s', (_, variables, faults) => {
    expect(faultsOf({ ...DEVELOPMENT, ...variables })).toEqual(faults)
    const listener = () => readListenerEnv(variables)
    if (faults.length === 0) expect(listener).not.toThrow()
    else expect(listener).toThrow(EnvironmentError)
    expect(JSON.stringify(faultsOf({ ...DEVELOPMENT, ...variables }))).not.toContain('hidden')
  })
})
