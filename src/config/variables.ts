// Every environment variable, declared once: name, kind, default and description. Values and the docs page follow from it.
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import * as kinds from './kinds.ts'
import type { Kind } from './kinds.ts'
import { poolUrl } from './pool-url.ts'

export type RequiredWhen = 'always' | 'in production' | 'in production, enterprise edition'

/** Variables that the defaults of others depend on; they are declared first. */
export interface BaseValues {
  mode: 'development' | 'production'
  jwtSecretKey: string
  reposDir: string
  redisUrl: string | null
}

export interface Variable<T = unknown> {
  name: string
  group: string
  kind: Kind<T>
  fallback(known: BaseValues): T
  /** the default for the docs page; empty for none */
  shown: string
  description: string
  /** never quoted in an error, a warning or a log */
  secret: boolean
  required: RequiredWhen | null
  /** why it has no effect yet; null when it has */
  inactive: string | null
  /** true: a value that does not parse logs a warning and the default is used; false: it stops the start */
  lenient: boolean
}

interface More<T> {
  secret?: boolean
  required?: RequiredWhen
  inactive?: string
  lenient?: boolean
  /** a default computed from other variables, and its description */
  from?: [shown: string, make: (known: BaseValues) => T]
}

function inGroup(group: string) {
  return <K, D extends K | null>(
    name: string,
    kind: Kind<K>,
    value: D,
    description: string,
    more: More<K | D> = {},
  ): Variable<K | D> => ({
    name,
    group,
    kind: kind,
    fallback: more.from?.[1] ?? (() => value),
    shown: more.from?.[0] ?? show(value),
    description,
    secret: more.secret ?? false,
    required: more.required ?? null,
    inactive: more.inactive ?? null,
    lenient: more.lenient ?? false,
  })
}

function show(value: unknown): string {
  if (value === null || value === '') return ''
  const text = Array.isArray(value) ? value.join(',') || 'none' : (value as { toString(): string }).toString()
  return `\`${text}\``
}

const service = inGroup('Service')
const storage = inGroup('Database and storage')
const secrets = inGroup('Secrets and first administrator')
const network = inGroup('Listeners and network')
const replicas = inGroup('Replicas')
const scanning = inGroup('Scanners')
const limits = inGroup('Limits and lifetimes')
const deployment = inGroup('Read by the deployment files only')

const SECRET = { secret: true }

// prettier-ignore
export const VARIABLES = {
  mode: service('ENV', kinds.choice('development', 'production'), 'development', 'Production refuses weak secrets and hides the interactive API documentation. Unset means development, with a warning.'),
  edition: service('SVC_EDITION', kinds.choice('community', 'enterprise'), 'enterprise', 'The edition in force. The community edition has no SBOM endpoints and no LDAP login.'),
  repoFormat: service('REPO_FORMAT', kinds.choice('apt', 'rpm', 'apk', 'both', 'all'), 'apt', 'Package formats served: `apt` deb, `rpm` rpm, `apk` apk, `both` deb and rpm, `all` all three. Any other value logs a warning and counts as `apt`.', { lenient: true }),
  distributions: service('SVC_DISTRIBUTIONS', kinds.list(kinds.text), null, 'Codenames of the distributions offered, from the presets in docs/distributions.md. Unset means the default list.'),
  distributionsFile: service('SVC_DISTRIBUTIONS_FILE', kinds.absolutePath, null, 'JSON file with distributions of your own and changes to presets; see docs/distributions.md.'),
  architectures: service('SVC_ARCHITECTURES', kinds.list(kinds.choice('amd64', 'arm64', 'armhf', 'i386', 'ppc64el', 'riscv64', 's390x')), ['amd64'], "Architectures of the presets, by Debian's names; rpm and apk distributions get their own names for them."),
  appVersion: service('APP_VERSION', kinds.text, 'dev', 'The build, shown by `GET /health`.'),
  logLevel: service('LOG_LEVEL', kinds.choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'), 'info', 'Least severe log line that is written.'),
  logFiles: service('LOG_FILES', kinds.integer(0, 1000), 10, 'Rotated files of the service log that are kept beside the access logs, for `GET /logs`. 0 writes no file.'),
  logFileMb: service('LOG_FILE_MB', kinds.integer(1, 1000), 10, 'Size at which a file of the service log is rotated, in MB; it is rotated each day too.'),
  logFileDays: service('LOG_FILE_DAYS', kinds.integer(1, 3650), 30, 'Days that rotated files of the service log are kept.'),
  otlpEndpoint: service('OTEL_EXPORTER_OTLP_ENDPOINT', kinds.url('http', 'https'), null, 'Collector of OpenTelemetry traces, such as `http://collector:4318`; see docs/tracing.md. Without it nothing is traced.', SECRET),
  otlpProtocol: service('OTEL_EXPORTER_OTLP_PROTOCOL', kinds.choice('http/protobuf', 'http/json'), 'http/protobuf', 'How traces are sent.'),
  otlpHeaders: service('OTEL_EXPORTER_OTLP_HEADERS', kinds.text, null, 'Headers of each request to the collector: `name=value`, separated by commas.', SECRET),
  otelDisabled: service('OTEL_SDK_DISABLED', kinds.flag, false, 'Switches tracing off, also when a collector is named.'),
  otelServiceName: service('OTEL_SERVICE_NAME', kinds.text, 'gatehouse', 'Name of the service in traces.'),
  otelResource: service('OTEL_RESOURCE_ATTRIBUTES', kinds.text, null, 'What else describes this service in traces: `name=value`, separated by commas.'),
  otelSampler: service('OTEL_TRACES_SAMPLER', kinds.choice('always_on', 'always_off', 'traceidratio', 'parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'), 'parentbased_always_on', 'Which traces are recorded. `parentbased_` follows the decision of a caller that sends `traceparent`.'),
  otelSamplerArgument: service('OTEL_TRACES_SAMPLER_ARG', kinds.ratio, 1, 'For `traceidratio`: the part of all traces that is recorded.'),
  dieAt: service('GATEHOUSE_DIE_AT', kinds.checkpoint, null, 'Crash tests only: the process kills itself at this checkpoint. Refused in production.'),

  jwtSecretKey: secrets('JWT_SECRET_KEY', kinds.text, '', 'Signs sessions. Production requires at least 32 characters, no well-known default, and no predictable text such as repetitions or sequences.', { secret: true, required: 'always' }),
  jwtAlgorithm: secrets('JWT_ALGORITHM', kinds.choice('HS256', 'HS384', 'HS512'), 'HS256', 'The HMAC that signs sessions.'),
  settingsEncryptionKey: secrets('SETTINGS_ENCRYPTION_KEY', kinds.text, '', 'Seals the secrets in `settings.json`. Changing it makes them unreadable.', { secret: true, from: ['`JWT_SECRET_KEY`, with a warning', (known) => known.jwtSecretKey] }),
  webhookSecret: secrets('WEBHOOK_SECRET', kinds.text, null, 'Verifies inbound webhooks and signs outbound ones. Without it inbound webhooks are answered 503.', { secret: true, required: 'in production' }),
  licenseVendorKey: secrets('SVC_LICENSE_VENDOR_KEY', kinds.text, null, 'Vendor key of the enterprise edition.', { secret: true, required: 'in production, enterprise edition' }),
  metricsToken: secrets('METRICS_TOKEN', kinds.text, null, 'Bearer token that `GET /metrics` requires; without it metrics are public.', SECRET),
  adminUsername: secrets('ADMIN_USERNAME', kinds.username, null, 'With `ADMIN_PASSWORD_HASH`: the administrator created at the first start.'),
  adminPasswordHash: secrets('ADMIN_PASSWORD_HASH', kinds.text, null, "bcrypt hash (`$2a$`, `$2b$` or `$2y$`) of that administrator's password. Any other value logs a warning, and no administrator is created.", SECRET),
  setupToken: secrets('SETUP_TOKEN', kinds.text, null, 'When set, `POST /setup/` requires it in the header `X-Setup-Token`.', SECRET),

  databaseUrl: storage('DATABASE_URL', kinds.databaseUrl, '', 'PostgreSQL 15 or later, or the embedded database PGlite in a directory (one process only).', { secret: true, required: 'always' }),
  reposDir: storage('REPOS_DIR', kinds.path, '/repos', 'Everything the service keeps: pool, manifests, staging, keys, settings, published trees.'),
  poolUrl: storage('POOL_URL', poolUrl, null, 'Object store (S3) that package files are kept in; see docs/scaling.md. Without it they are in `<REPOS_DIR>/pool`.'),
  poolRedirect: storage('POOL_REDIRECT', kinds.flag, false, 'With `POOL_URL`: package requests are answered with a redirect to a signed address of the object store, which clients must be able to reach. Without it the listeners pass the bytes on.'),
  awsAccessKeyId: storage('AWS_ACCESS_KEY_ID', kinds.text, null, 'Access key of the object store.', SECRET),
  awsSecretAccessKey: storage('AWS_SECRET_ACCESS_KEY', kinds.text, null, 'Secret key of the object store.', SECRET),
  backupDir: storage('BACKUP_DIR', kinds.path, '', 'Where backup archives are written.', { from: ['`<REPOS_DIR>/backups`', (known) => join(known.reposDir, 'backups')] }),

  bindHost: network('BIND_HOST', kinds.bindAddress, '0.0.0.0', 'Address all listeners bind to.'),
  backendPort: network('BACKEND_PORT', kinds.port, 8000, 'HTTP API. Reachable for others only through a TLS reverse proxy.'),
  frontendPort: network('FRONTEND_PORT', kinds.port, 3003, 'Web console.'),
  aptPort: network('APT_PORT', kinds.port, 80, 'Repositories of apt (`/repos/`) and apk (`/apk/`).'),
  rpmRepoPort: network('RPM_REPO_PORT', kinds.port, 8080, 'Repositories of dnf and zypper (`/repos/`).'),
  publicAptUrl: network('PUBLIC_APT_URL', kinds.publicAddress, null, 'Address under which clients reach `APT_PORT`, for the set-up files the service hands out; the setting `addresses.apt_url` replaces it. Without both they name the address of the request.'),
  publicRpmUrl: network('PUBLIC_RPM_URL', kinds.publicAddress, null, 'Address under which clients reach `RPM_REPO_PORT`, for the set-up files the service hands out; the setting `addresses.rpm_url` replaces it. Without both they name the address of the request.'),
  serveProcesses: network('SERVE_PROCESSES', kinds.integer(1, 64), 1, 'Processes that serve the repositories. With 1 the process of the API does it; with more they run beside it, and serve while it restarts.', { from: ['1 in development; in production one for each processor, at most 4', (known) => (known.mode === 'production' ? Math.min(4, availableParallelism()) : 1)] }),
  accessLogDir: network('ACCESS_LOG_DIR', kinds.path, '', 'Directory of the service log and of the access logs of the repositories, for machines that cannot write to `REPOS_DIR` or share it.', { from: ['`<REPOS_DIR>/logs`', (known) => join(known.reposDir, 'logs')] }),
  accessLogMb: network('ACCESS_LOG_MB', kinds.integer(16, 1_000_000), 2048, 'Largest size in MB of each access log of the repositories with its rotations. Beyond it the oldest are deleted, and the service log says so. 110 bytes a request.'),
  accessLogDirectories: network('ACCESS_LOG_DIRECTORIES', kinds.list(kinds.path), [], 'Directories of this machine in which the setting `downloads.nginx_logs` may name access logs.'),
  trustedProxies: network('TRUSTED_PROXIES', kinds.list(kinds.network), ['127.0.0.1', '172.16.0.0/12', '192.168.0.0/16'], 'Proxies whose `X-Forwarded-For`, `-Host` and `-Proto` are trusted.'),
  clientCertificateHeader: network('CLIENT_CERTIFICATE_HEADER', kinds.headerName, null, 'Header in which a trusted proxy that ends TLS names the client certificate by subject or fingerprint, for machines that sign in with one. The proxy must set it on every request; see docs/machines.md.'),
  accessFactsHours: network('ACCESS_FACTS_HOURS', kinds.integer(1, 720), 24, 'Hours for which listeners serve private distributions by their last knowledge of rights while the service is away. Then these answer 503.'),
  corsOrigins: network('CORS_ORIGINS', kinds.list(kinds.origin), ['http://localhost:3003'], 'Origins whose pages may call the API from a browser.'),
  healthRequireAuth: network('HEALTH_REQUIRE_AUTH', kinds.flag, false, '`GET /health` requires a credential. The live and ready probes never do.'),
  allowPrivateSources: network('ALLOW_PRIVATE_SOURCES', kinds.flag, false, 'Import sources may have loopback and private addresses. Link-local and metadata addresses never may.', { from: ['`true` in development, `false` in production', (known) => known.mode === 'development'] }),
  importDirectories: network('IMPORT_DIRECTORIES', kinds.list(kinds.path), [], 'Directories of this machine that import sources may name.'),
  outboundAllowedHosts: network('OUTBOUND_ALLOWED_HOSTS', kinds.list(kinds.host), [], 'Hosts that webhooks, mail and logins at identity providers may reach although their address is private.'),
  httpProxy: network('HTTP_PROXY', kinds.url('http', 'https'), null, 'Proxy for outbound http.', SECRET),
  httpsProxy: network('HTTPS_PROXY', kinds.url('http', 'https'), null, 'Proxy for outbound https.', SECRET),
  noProxy: network('NO_PROXY', kinds.text, null, 'Hosts reached without the proxy, separated by commas.'),

  redisUrl: replicas('REDIS_URL', kinds.url('redis', 'rediss'), null, 'Redis for rate limits, the cache and events that replicas share. Each process counts, caches and polls by itself without it, or while it is unreachable.', SECRET),
  jobStateBackend: replicas('JOB_STATE_BACKEND', kinds.choice('local', 'redis'), 'local', 'Where the progress of running tasks is kept before it is in the database. `redis` means several replicas, needs PostgreSQL, and falls back to `local` while Redis is unreachable.'),
  jobStateRedisUrl: replicas('JOB_STATE_REDIS_URL', kinds.url('redis', 'rediss'), null, 'Redis for the progress of tasks, and for events, when `JOB_STATE_BACKEND` is `redis`.', { secret: true, from: ['`REDIS_URL`', (known) => known.redisUrl] }),

  clamavSocket: scanning('CLAMAV_SOCKET', kinds.absolutePath, null, 'Unix socket of clamd. It is used instead of `CLAMAV_HOST`.'),
  clamavHost: scanning('CLAMAV_HOST', kinds.host, null, 'Host of clamd. With neither this nor the socket there is no antivirus engine.'),
  clamavPort: scanning('CLAMAV_PORT', kinds.integer(1, 65535), 3310, 'TCP port of clamd.'),
  clamavMaxStreamMb: scanning('CLAMAV_MAX_STREAM_MB', kinds.integer(1, 4000), 100, 'Largest file sent to clamd, in MB; larger ones count as not fully scanned. Must not exceed its StreamMaxLength nor its MaxFileSize, above which clamd answers OK without scanning unless `AlertExceedsMax yes` is set.'),
  clamavDbDir: scanning('CLAMAV_DB_DIR', kinds.path, '/var/lib/clamav', 'Signature files of clamd, for the health report and the date of the signatures.'),
  freshclamBin: scanning('FRESHCLAM_BIN', kinds.path, 'freshclam', 'Program that updates the signatures.'),
  cveScanners: scanning('SVC_CVE_SCANNERS', kinds.list(kinds.choice('grype', 'trivy', 'osv')), ['grype', 'osv'], 'Vulnerability scanners in order: the first one available scans uploads, the others check published packages. `osv` is the embedded matcher, which needs no program and is used alone when no other is available.'),
  grypeBin: scanning('GRYPE_BIN', kinds.path, null, 'The grype program, release 0.88 or later; without it `grype` is searched in `PATH`.'),
  trivyBin: scanning('TRIVY_BIN', kinds.path, null, 'The trivy program; without it `trivy` is searched in `PATH`. Used when `SVC_CVE_SCANNERS` names it.'),
  grypeDbUrl: scanning('GRYPE_DB_UPDATE_URL', kinds.url('http', 'https'), null, "Where grype loads its database from: a mirror of your own. Grype's own address without it."),
  trivyDbRepository: scanning('TRIVY_DB_REPOSITORY', kinds.text, null, "Where trivy loads its database from, as an image reference: a mirror of your own. Trivy's own without it."),
  searchPath: scanning('PATH', kinds.text, '/usr/local/bin:/usr/bin:/bin', 'Where scanner programs are searched by name.'),
  grypeDbCacheDir: scanning('GRYPE_DB_CACHE_DIR', kinds.path, '', 'Vulnerability data of all scanners; created when absent.', { from: ['`<REPOS_DIR>/grype-db`', (known) => join(known.reposDir, 'grype-db')] }),
  osvUrl: scanning('SVC_OSV_URL', kinds.orNone(kinds.url('http', 'https')), 'https://osv-vulnerabilities.storage.googleapis.com', 'Advisories in OSV format, `<address>/<ecosystem>/all.zip`; use a mirror where the internet is out of reach.'),
  osvDir: scanning('SVC_OSV_DIR', kinds.path, null, 'Directory of advisories in OSV format, read besides `SVC_OSV_URL`: zip files, JSON files or a copy of the bucket.'),
  sigstoreRoot: scanning('SIGSTORE_TRUSTED_ROOT', kinds.path, null, 'Trusted root, in JSON, of the Sigstore whose attestations count: one of your own, or a newer one of the public services. Without it, that of the public services as it came with this release; nothing is fetched.'),
  epssUrl: scanning('SVC_EPSS_URL', kinds.orNone(kinds.url('http', 'https')), 'https://epss.empiricalsecurity.com/epss_scores-current.csv.gz', 'Exploit-prediction scores, CSV packed with gzip.'),
  kevUrl: scanning('SVC_KEV_URL', kinds.orNone(kinds.url('http', 'https')), 'https://www.cisa.gov/sites/default/files/feeds/known_exploited_vulnerabilities.json', 'Catalog of known-exploited vulnerabilities, JSON.'),

  jwtExpireMinutes: limits('JWT_EXPIRE_MINUTES', kinds.integer(1, 525_600), 60, 'Lifetime of a session token, in minutes.'),
  manifestCacheTtl: limits('MANIFEST_CACHE_TTL', kinds.integer(0, 86_400), 30, 'Seconds that manifests and counts are kept in the cache; 0 switches it off.'),
  ociTokenTtlSeconds: limits('OCI_TOKEN_TTL_SECONDS', kinds.integer(10, 86_400), 300, 'Lifetime of a container-registry token, in seconds.', { inactive: 'there is no container registry yet' }),
  rateLimitFactor: limits('RATE_LIMIT_FACTOR', kinds.positiveNumber, 1, 'Multiplies every rate limit, for load tests.'),

  backupRetentionDays: deployment('BACKUP_RETENTION_DAYS', kinds.integer(0, 36_500), 30, 'Days the external backup script keeps archives; 0 keeps all.'),
  postgresPassword: deployment('POSTGRES_PASSWORD', kinds.text, null, 'Password the database container is created with; must equal the one in `DATABASE_URL`.', SECRET),
} as const

type Values<T> = {
  readonly [K in keyof T]: T[K] extends Variable<infer V> ? (V extends readonly (infer E)[] ? readonly E[] : V) : never
}

/** The parsed environment, used instead of `process.env`. */
export type Env = Values<typeof VARIABLES>

/** The variables for access to the object store. */
export const POOL_PROPERTIES = [
  'poolUrl',
  'poolRedirect',
  'awsAccessKeyId',
  'awsSecretAccessKey',
] as const satisfies (keyof Env)[]

export type PoolEnv = Pick<Env, (typeof POOL_PROPERTIES)[number]>

/** The variables of processes that only serve repositories. The only secrets among them are those of the object store. */
export const LISTENER_PROPERTIES = [
  ...(['mode', 'repoFormat', 'distributions', 'distributionsFile', 'architectures', 'appVersion', 'logLevel'] as const),
  ...(['logFiles', 'logFileMb', 'logFileDays', 'accessLogMb'] as const),
  ...(['reposDir', 'accessLogDir', 'bindHost', 'aptPort', 'rpmRepoPort', 'publicAptUrl', 'publicRpmUrl'] as const),
  ...(['trustedProxies', 'serveProcesses', 'clientCertificateHeader', 'accessFactsHours'] as const),
  ...POOL_PROPERTIES,
] satisfies (keyof Env)[]

export type ListenerEnv = Pick<Env, (typeof LISTENER_PROPERTIES)[number]>

/** Variables that are accepted but have no effect yet. */
export const INACTIVE_VARIABLES: readonly string[] = (Object.values(VARIABLES) as Variable[])
  .filter(({ inactive }) => inactive !== null)
  .map(({ name }) => name)
