// Rules across variables: production requirements, missing secrets, impossible combinations.
import { PORT_OF_WORD, REPO_FORMAT_WORDS } from './repo-format.ts'
import { ONLINE_SECRET, SIGNING_SECRET, weakness, WELL_KNOWN } from './secrets.ts'
import { VARIABLES, type Env, type PoolEnv, type Variable } from './variables.ts'

const BCRYPT = /^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/

interface Judged {
  name: string
  fault: string
}

/**
 * Faults that stop the start. Variables that did not parse hold their default here.
 * @param given names of the variables that are set
 */
export function faultsOf(env: Env, given: ReadonlySet<string>): string[] {
  const faults: string[] = []
  for (const name of ['DATABASE_URL', 'JWT_SECRET_KEY']) if (!given.has(name)) faults.push(`${name} is not set`)
  if (env.mode === 'production') {
    const missing = new Set(['JWT_SECRET_KEY'].filter((name) => !given.has(name)))
    for (const { name, fault } of weakSecrets(env, given))
      if (!missing.has(name)) faults.push(`${name} ${fault}; production refuses it`)
    if (given.has('GATEHOUSE_DIE_AT')) faults.push('GATEHOUSE_DIE_AT is for crash tests; production refuses it')
  }
  if (env.jobStateBackend === 'redis' && env.databaseUrl.startsWith('pglite:')) {
    faults.push(
      'JOB_STATE_BACKEND redis means several replicas, and the embedded database of DATABASE_URL serves one process only: use PostgreSQL',
    )
  }
  if (env.mode === 'production' && env.jobStateBackend === 'redis' && env.jobStateRedisUrl === null)
    faults.push(
      'JOB_STATE_BACKEND is redis, but neither JOB_STATE_REDIS_URL nor REDIS_URL is set; production refuses it',
    )
  faults.push(...poolFaultsOf(env), ...proxyFaultsOf(env))
  if (env.architectures?.length === 0) faults.push('SVC_ARCHITECTURES must name an architecture')
  faults.push(...sharedPorts(env))
  return faults
}

/** Faults in the variables of the object store; also for processes that only serve repositories. */
export function poolFaultsOf({ poolUrl, poolRedirect, awsAccessKeyId, awsSecretAccessKey }: PoolEnv): string[] {
  if (poolUrl === null) return poolRedirect ? ['POOL_REDIRECT needs POOL_URL'] : []
  if (awsAccessKeyId !== null && awsSecretAccessKey !== null) return []
  return ['POOL_URL needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY']
}

/** Shortest prefix of a private network, by family: 10.0.0.0/8, and fc00::/7. */
const LEAST_PREFIX = { 4: 8, 6: 7 }
/** Bits before the IPv4 address in an IPv4-mapped IPv6 address. */
const MAPPED_BITS = 96

/** Hosts in a trusted network may claim any client address. Also for processes that only serve repositories. */
export function proxyFaultsOf({ mode, trustedProxies = [] }: Partial<Pick<Env, 'mode' | 'trustedProxies'>>): string[] {
  if (mode !== 'production') return []
  const wide = trustedProxies.filter((network) => {
    const [address = '', prefix] = network.split('/')
    if (prefix === undefined) return false
    if (!address.includes(':')) return Number(prefix) < LEAST_PREFIX[4]
    return Number(prefix) < (/^::ffff:/i.test(address) ? MAPPED_BITS + LEAST_PREFIX[4] : LEAST_PREFIX[6])
  })
  return wide.map(
    (network) => `TRUSTED_PROXIES trusts ${network}, where anybody can say to be another client; production refuses it`,
  )
}

/** Warnings to log, and the values they correct. */
export function warningsOf(env: Env, given: ReadonlySet<string>): { warnings: string[]; corrections: Partial<Env> } {
  const warnings: string[] = []
  const corrections: { -readonly [K in keyof Env]?: Env[K] } = {}
  const warn = (condition: boolean, sentence: string) => {
    if (condition) warnings.push(sentence)
  }

  warn(!given.has('ENV'), 'ENV is not set; development is assumed')
  if (env.mode === 'development') {
    for (const { name, fault } of weakSecrets(env, given)) warnings.push(`${name} ${fault}; production would refuse it`)
  }
  warn(
    env.jwtSecretKey.length * 8 < Number(env.jwtAlgorithm.slice(2)) && env.jwtAlgorithm !== 'HS256',
    `JWT_SECRET_KEY is shorter than the hash of ${env.jwtAlgorithm} (RFC 7518, section 3.2)`,
  )
  warn(
    !given.has('SETTINGS_ENCRYPTION_KEY'),
    'SETTINGS_ENCRYPTION_KEY is not set; stored secrets are sealed with JWT_SECRET_KEY',
  )

  if (env.adminPasswordHash !== null && !BCRYPT.test(env.adminPasswordHash)) {
    corrections.adminPasswordHash = null
    warnings.push(
      'ADMIN_PASSWORD_HASH is no bcrypt hash; no administrator is created (in a compose file each $ is written $$)',
    )
  } else {
    warn(
      (env.adminUsername === null) !== (env.adminPasswordHash === null),
      'ADMIN_USERNAME and ADMIN_PASSWORD_HASH work only together; no administrator is created',
    )
  }
  if (env.jobStateBackend === 'redis' && env.jobStateRedisUrl === null) {
    corrections.jobStateBackend = 'local'
    warnings.push('JOB_STATE_BACKEND is redis, but neither JOB_STATE_REDIS_URL nor REDIS_URL is set; local is used')
  }
  warn(
    env.clamavSocket !== null && env.clamavHost !== null,
    'CLAMAV_SOCKET and CLAMAV_HOST are both set; the socket is used',
  )
  warn(
    env.mode === 'production' && env.clamavSocket === null && env.clamavHost === null,
    'neither CLAMAV_SOCKET nor CLAMAV_HOST is set; uploads count as not scanned for malware',
  )
  warn(
    env.mode === 'production' && env.databaseUrl === 'pglite://memory',
    'DATABASE_URL names a database in memory; everything is lost at the end of the process',
  )
  warn(
    env.mode === 'production' && env.rateLimitFactor !== 1,
    `RATE_LIMIT_FACTOR is ${env.rateLimitFactor}; rate limits differ from the documented ones`,
  )
  warn(
    env.mode === 'production' && weakness(databasePassword(env), ONLINE_SECRET) === WELL_KNOWN,
    'the password in DATABASE_URL is a well-known default',
  )
  warn(
    env.postgresPassword !== null && databasePassword(env) !== null && env.postgresPassword !== databasePassword(env),
    'POSTGRES_PASSWORD differs from the password in DATABASE_URL',
  )
  return { warnings, corrections }
}

/** Specification, "Authentication", 10. */
function weakSecrets(env: Env, given: ReadonlySet<string>): Judged[] {
  const judged: [string, string | null][] = [
    ['JWT_SECRET_KEY', weakness(env.jwtSecretKey, SIGNING_SECRET)],
    ['WEBHOOK_SECRET', weakness(env.webhookSecret, ONLINE_SECRET)],
  ]
  if (env.edition === 'enterprise')
    judged.push(['SVC_LICENSE_VENDOR_KEY', weakness(env.licenseVendorKey, ONLINE_SECRET)])
  // If unset, another secret replaces it, or the feature that it protects is switched off.
  for (const [name, value, least] of [
    ['SETTINGS_ENCRYPTION_KEY', env.settingsEncryptionKey, { ...SIGNING_SECRET, length: 1 }],
    ['SETUP_TOKEN', env.setupToken, ONLINE_SECRET],
    ['METRICS_TOKEN', env.metricsToken, ONLINE_SECRET],
  ] as const)
    if (given.has(name)) judged.push([name, weakness(value, least)])
  const weak = judged.flatMap(([name, fault]) => (fault === null ? [] : [{ name, fault }]))
  for (const [property, { name, secret }] of Object.entries(VARIABLES) as [keyof Env, Variable][]) {
    const value = env[property]
    const isPlaceholder = secret && given.has(name) && typeof value === 'string' && PLACEHOLDER.test(value)
    if (isPlaceholder && !weak.some((other) => other.name === name))
      weak.push({ name, fault: 'still has the word REPLACE of the example' })
  }
  return weak
}

/** The placeholder for secrets in deploy/, also inside addresses. */
const PLACEHOLDER = /\bREPLACE\b/

/** Two listeners cannot share a port; the port of a format that is not served is not opened. */
function sharedPorts(env: Env): string[] {
  const listeners: [string, number][] = [
    ['BACKEND_PORT', env.backendPort],
    ['FRONTEND_PORT', env.frontendPort],
  ]
  const inUse = new Set(REPO_FORMAT_WORDS[env.repoFormat].map((word) => PORT_OF_WORD[word]))
  if (inUse.has('aptPort')) listeners.push(['APT_PORT', env.aptPort])
  if (inUse.has('rpmRepoPort')) listeners.push(['RPM_REPO_PORT', env.rpmRepoPort])
  const faults: string[] = []
  for (const [at, [name, port]] of listeners.entries()) {
    const first = listeners.slice(0, at).find((other) => other[1] === port)
    if (port !== 0 && first) faults.push(`${name} is ${port}, the port of ${first[0]}`)
  }
  return faults
}

function databasePassword(env: Env): string | null {
  if (!env.databaseUrl.startsWith('postgres') || !URL.canParse(env.databaseUrl)) return null
  try {
    return decodeURIComponent(new URL(env.databaseUrl).password) || null
  } catch {
    return null
  }
}
