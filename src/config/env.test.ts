import { availableParallelism } from 'node:os'
import { describe, expect, test } from 'vitest'
import { EnvironmentError, listenerSource, readEnv, readListenerEnv, type Source } from './env.ts'
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

const read = (source: Source) => readEnv(source).env

function faultsOf(source: Source): string[] {
  try {
    readEnv(source)
  } catch (error) {
    expect(error).toBeInstanceOf(EnvironmentError)
    return [...(error as EnvironmentError).faults]
  }
  return []
}

test('the defaults are those of the specification', () => {
  const { env, warnings } = readEnv({ ENV: 'development', DATABASE_URL: 'postgresql://u@h/d', JWT_SECRET_KEY: KEY })
  expect(env).toMatchObject({
    mode: 'development',
    edition: 'enterprise',
    repoFormat: 'apt',
    appVersion: 'dev',
    jwtAlgorithm: 'HS256',
    jwtExpireMinutes: 60,
    trustedProxies: ['127.0.0.1', '172.16.0.0/12', '192.168.0.0/16'],
    corsOrigins: ['http://localhost:3003'],
    reposDir: '/repos',
    backupDir: '/repos/backups',
    grypeDbCacheDir: '/repos/grype-db',
    bindHost: '0.0.0.0',
    backendPort: 8000,
    frontendPort: 3003,
    aptPort: 80,
    rpmRepoPort: 8080,
    jobStateBackend: 'local',
    redisUrl: null,
    jobStateRedisUrl: null,
    clamavPort: 3310,
    clamavMaxStreamMb: 100,
    manifestCacheTtl: 30,
    ociTokenTtlSeconds: 300,
    backupRetentionDays: 30,
    rateLimitFactor: 1,
    healthRequireAuth: false,
    allowPrivateSources: true,
    settingsEncryptionKey: KEY,
    adminUsername: null,
    dieAt: null,
    logLevel: 'info',
  })
  expect(warnings).toContain('SETTINGS_ENCRYPTION_KEY is not set; stored secrets are sealed with JWT_SECRET_KEY')
})

test('a complete environment gives no warning, in development and in production', () => {
  expect(readEnv(DEVELOPMENT).warnings).toEqual([])
  expect(readEnv(PRODUCTION).warnings).toEqual([])
})

test('the result cannot be changed, lists included', () => {
  const env = read(DEVELOPMENT)
  expect(Object.isFrozen(env) && Object.isFrozen(env.trustedProxies)).toBe(true)
})

test('no default depends on a variable that is declared after it', () => {
  const seen = new Set<string>()
  const values: Record<string, unknown> = { mode: 'production', jwtSecretKey: 'x', reposDir: '/r', redisUrl: null }
  for (const [property, variable] of Object.entries(VARIABLES) as [string, Variable][]) {
    const guard = new Proxy(values, {
      get(target, name) {
        if (!seen.has(name as string)) throw new Error(`${variable.name} looks at ${String(name)}`)
        return target[name as string]
      },
    })
    expect(() => variable.fallback(guard as never)).not.toThrow()
    seen.add(property)
  }
})

test('all faults are reported together', () => {
  const faults = faultsOf({
    ENV: 'production',
    JWT_SECRET_KEY: 'short',
    BACKEND_PORT: '70000',
    TRUSTED_PROXIES: '10.0.0.0/40',
    LOG_LEVEL: 'loud',
  })
  expect(faults.map((fault) => fault.split(' ')[0]).sort()).toEqual([
    'BACKEND_PORT',
    'DATABASE_URL',
    'JWT_SECRET_KEY',
    'LOG_LEVEL',
    'SVC_LICENSE_VENDOR_KEY',
    'TRUSTED_PROXIES',
    'WEBHOOK_SECRET',
  ])
})

test('ENV unset is development, with a warning, and never a guess at a misspelt word', () => {
  const { env, warnings } = readEnv({ ...DEVELOPMENT, ENV: undefined })
  expect(env.mode).toBe('development')
  expect(warnings).toEqual(['ENV is not set; development is assumed'])
  expect(faultsOf({ ...PRODUCTION, ENV: 'prod' })).toEqual(['ENV must be one of development, production'])
})

test.each(['debian', 'RPM', 'apt,rpm'])('REPO_FORMAT %s logs a warning and counts as apt', (REPO_FORMAT) => {
  const { env, warnings } = readEnv({ ...DEVELOPMENT, REPO_FORMAT })
  expect(env.repoFormat).toBe('apt')
  expect(warnings).toEqual(['REPO_FORMAT must be one of apt, rpm, apk, both, all; apt is used'])
})

test.each([
  ['DATABASE_URL', 'mysql://u:p@h/d'],
  ['DATABASE_URL', 'postgres://u:a/b#c@h:x/d'],
  ['DATABASE_URL', 'pglite://'],
  ['DATABASE_URL', '/var/db'],
  ['BACKEND_PORT', '65536'],
  ['BACKEND_PORT', '-1'],
  ['BACKEND_PORT', '80.5'],
  ['BACKEND_PORT', '0x50'],
  ['CLAMAV_PORT', '0'],
  ['TRUSTED_PROXIES', '10.0.0.0/33'],
  ['TRUSTED_PROXIES', 'proxy.local'],
  ['TRUSTED_PROXIES', '10.0.0.0/'],
  ['TRUSTED_PROXIES', '::1/129'],
  ['TRUSTED_PROXIES', '10.1/8'],
  ['CORS_ORIGINS', '*'],
  ['CORS_ORIGINS', 'https://a.example/app'],
  ['CORS_ORIGINS', 'a.example'],
  ['CORS_ORIGINS', 'https://u:p@a.example'],
  ['CORS_ORIGINS', 'https://*.example'],
  ['CORS_ORIGINS', 'https://a.example,ftp://b.example'],
  ['OUTBOUND_ALLOWED_HOSTS', 'http://hook'],
  ['OUTBOUND_ALLOWED_HOSTS', '127.1'],
  ['BIND_HOST', 'example.org'],
  ['HEALTH_REQUIRE_AUTH', 'maybe'],
  ['JWT_ALGORITHM', 'none'],
  ['JWT_ALGORITHM', 'RS256'],
  ['JWT_EXPIRE_MINUTES', '0'],
  ['SVC_EDITION', 'free'],
  ['JOB_STATE_BACKEND', 'disk'],
  ['RATE_LIMIT_FACTOR', '0'],
  ['RATE_LIMIT_FACTOR', '-2'],
  ['RATE_LIMIT_FACTOR', 'Infinity'],
  ['GATEHOUSE_DIE_AT', 'lunch'],
  ['GATEHOUSE_DIE_AT', 'staged:0'],
  ['REDIS_URL', 'localhost:6379'],
  ['HTTPS_PROXY', 'proxy:3128'],
  ['CLAMAV_SOCKET', 'run/clamd'],
  ['ADMIN_USERNAME', 'a b'],
  ['MANIFEST_CACHE_TTL', '-1'],
  ['SVC_OSV_URL', 'file:///osv'],
])('%s "%s" is a fault of that variable', (name, value) => {
  const faults = faultsOf({ ...DEVELOPMENT, [name]: value })
  expect(faults).toHaveLength(1)
  expect(faults[0]).toMatch(new RegExp(`^${name} must `))
})

test.each([
  [{ DATABASE_URL: 'pglite://memory' }, { databaseUrl: 'pglite://memory' }],
  [
    { BACKEND_PORT: '0', APT_PORT: '0', FRONTEND_PORT: ' 0 ' },
    { backendPort: 0, aptPort: 0, frontendPort: 0 },
  ],
  [{ TRUSTED_PROXIES: '::1, fd00::/8 ,10.0.0.1,' }, { trustedProxies: ['::1', 'fd00::/8', '10.0.0.1'] }],
  [
    { TRUSTED_PROXIES: 'none', CORS_ORIGINS: 'none' },
    { trustedProxies: [], corsOrigins: [] },
  ],
  [
    { CORS_ORIGINS: 'https://A.example:443/, http://b.example:8080' },
    { corsOrigins: ['https://a.example', 'http://b.example:8080'] },
  ],
  [
    { OUTBOUND_ALLOWED_HOSTS: 'Hook.local,10.0.0.7,[::1]' },
    { outboundAllowedHosts: ['hook.local', '10.0.0.7', '::1'] },
  ],
  [
    { ALLOW_PRIVATE_SOURCES: 'off', HEALTH_REQUIRE_AUTH: 'TRUE' },
    { allowPrivateSources: false, healthRequireAuth: true },
  ],
  [{ REPOS_DIR: '/srv/gate' }, { backupDir: '/srv/gate/backups', grypeDbCacheDir: '/srv/gate/grype-db' }],
  [{ REDIS_URL: 'redis://r:6379/1/' }, { redisUrl: 'redis://r:6379/1', jobStateRedisUrl: 'redis://r:6379/1' }],
  [
    { RATE_LIMIT_FACTOR: '0.5', GATEHOUSE_DIE_AT: 'before-flip:2' },
    { rateLimitFactor: 0.5, dieAt: 'before-flip:2' },
  ],
  [
    { https_proxy: 'http://proxy:3128', no_proxy: 'a,b' },
    { httpsProxy: 'http://proxy:3128', noProxy: 'a,b' },
  ],
  [{ SVC_OSV_URL: 'https://osv.example/' }, { osvUrl: 'https://osv.example' }],
] as [Source, Record<string, unknown>][])('%j is read', (source, expected) => {
  expect(read({ ...DEVELOPMENT, ...source })).toMatchObject(expected)
})

test('private sources are allowed by default in development only', () => {
  expect(read(DEVELOPMENT).allowPrivateSources).toBe(true)
  expect(read(PRODUCTION).allowPrivateSources).toBe(false)
})

describe('a process that only serves repositories', () => {
  test('needs neither a database nor a secret', () => {
    const { env, warnings } = readListenerEnv({ ENV: 'production', REPOS_DIR: '/srv/gate', APT_PORT: '8081' })
    expect(env).toMatchObject({ reposDir: '/srv/gate', accessLogDir: '/srv/gate/logs', aptPort: 8081 })
    expect(warnings).toEqual([])
  })

  test('gets no secret from the environment of the service', () => {
    const secrets = (Object.values(VARIABLES) as Variable[]).filter(({ secret }) => secret)
    const source = Object.fromEntries(secrets.map(({ name }) => [name, 'a secret']))
    const handed = listenerSource({ ...source, REPOS_DIR: '/srv/gate' })
    expect(Object.values(handed).filter((value) => value !== undefined)).toEqual(['/srv/gate'])
  })

  test('gets only the keys of the object store, where there is one', () => {
    const secrets = (Object.values(VARIABLES) as Variable[]).filter(({ secret }) => secret)
    const source = Object.fromEntries(secrets.map(({ name }) => [name, name]))
    const handed = listenerSource({ ...source, POOL_URL: 's3://bucket/prefix' })
    expect(Object.values(handed).filter((value) => value !== undefined)).toEqual([
      's3://bucket/prefix',
      'AWS_ACCESS_KEY_ID',
      'AWS_SECRET_ACCESS_KEY',
    ])
  })

  test('names every fault of its own variables', () => {
    expect(() => readListenerEnv({ APT_PORT: 'eighty', SERVE_PROCESSES: '0', BACKEND_PORT: 'none' })).toThrow(
      /2 faults:\n.*APT_PORT[^\n]*\n.*SERVE_PROCESSES/s,
    )
  })
})

test('one process serves in development, and at most four in production', () => {
  expect(read(DEVELOPMENT).serveProcesses).toBe(1)
  expect(read(PRODUCTION).serveProcesses).toBe(Math.min(4, availableParallelism()))
})
