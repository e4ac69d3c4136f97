// Two replicas as an operator runs them: PostgreSQL, Redis, one REPOS_DIR on a disk that can be filled, two listeners each.
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childrenOf } from '../crash/children.ts'
import { createForwarder, type Forwarder } from '../crash/forwarder.ts'
import { createInstallations, type Installation } from '../crash/installations.ts'
import { mountSmallDisk, type SmallDisk } from '../crash/mounts.ts'
import type { Postgres } from '../crash/postgres.ts'
import type { ObjectServer } from '../pool/object-server.ts'
import { freePort } from '../ports.ts'
import { startRedis, type RedisServer } from '../replicas/redis-server.ts'
import { startService, type Service } from '../service.ts'

const REPOS_MB = 768
const DATABASE_MB = 768
const MANY_NAMES = 500_000

export interface Replica {
  name: 'A' | 'B'
  service: Service
  /** its way to the database */
  forwarder: Forwarder
  /** whether it should answer: false while a fault has stopped all of it */
  isUp: boolean
  signal(role: 'api' | 'listener', signal: NodeJS.Signals, most?: number): Promise<void>
  start(env?: Record<string, string>): Promise<void>
  isLeader(): Promise<boolean>
}

export interface Replicas {
  installation: Installation
  postgres: Postgres
  redis: RedisServer
  disk: SmallDisk
  databaseDisk: SmallDisk
  objects: ObjectServer | null
  all: Replica[]
  /** The leader, and the other replica. */
  byLead(): Promise<{ leader: Replica; passive: Replica }>
  remove(): Promise<void>
}

export async function startReplicas(objects: ObjectServer | null = null): Promise<Replicas> {
  const base = await mkdtemp(join(tmpdir(), 'faults-'))
  // The database server runs as another user.
  await chmod(base, 0o755)
  const databaseDisk = await mountSmallDisk(join(base, 'database'), DATABASE_MB, MANY_NAMES)
  const installations = await createInstallations('postgres', 'apt', {
    database: databaseDisk.directory,
    ...(objects && { objects }),
  })
  const installation = await installations.copy()
  const disk = await ontoSmallDisk(installation)
  const redis = await startRedis()
  const shared = { ...installation.env, REDIS_URL: redis.url, JOB_STATE_BACKEND: 'redis' }
  const all: Replica[] = []
  for (const name of ['A', 'B'] as const) all.push(await startReplica(name, installation, shared))
  return {
    installation,
    postgres: installations.postgres as Postgres,
    redis,
    disk,
    databaseDisk,
    objects,
    all,
    async byLead() {
      for (;;) {
        const leads = await Promise.all(all.map((replica) => replica.isLeader()))
        const leader = all[leads.indexOf(true)]
        const passive = all[leads.indexOf(false)]
        if (leader && passive) return { leader, passive }
      }
    },
    async remove() {
      for (const { service } of all) await service.kill()
      for (const { forwarder } of all) await forwarder.stop()
      await redis.remove()
      await disk.remove()
      await installations.remove()
      await databaseDisk.remove()
      await rm(base, { recursive: true, force: true })
    },
  }
}

async function ontoSmallDisk({ reposDir }: Installation): Promise<SmallDisk> {
  await rename(reposDir, `${reposDir}-kept`)
  await mkdir(reposDir)
  const disk = await mountSmallDisk(reposDir, REPOS_MB, MANY_NAMES)
  // Node has no function that keeps hard links.
  execFileSync('cp', ['-a', `${reposDir}-kept/.`, reposDir])
  return disk
}

async function startReplica(
  name: 'A' | 'B',
  installation: Installation,
  shared: Record<string, string>,
): Promise<Replica> {
  const url = new URL(installation.databaseUrl)
  const forwarder = await createForwarder({ host: url.hostname, port: Number(url.port) })
  url.port = String(forwarder.port)
  const ports: Record<string, string> = {}
  for (const variable of ['BACKEND_PORT', 'FRONTEND_PORT', 'APT_PORT', 'RPM_REPO_PORT'])
    ports[variable] = String(await freePort())
  const start = (env: Record<string, string> = {}) =>
    startService({
      ...installation,
      databaseUrl: url.href,
      env: { ...shared, ...ports, SERVE_PROCESSES: '2', ...env },
    })
  const replica: Replica = {
    name,
    forwarder,
    isUp: true,
    service: await start(),
    async signal(role, signal, most = Infinity) {
      const pids = await childrenOf(replica.service.process, role)
      for (const pid of pids.slice(0, most)) process.kill(pid, signal)
    },
    async start(env) {
      replica.service = await start(env)
      replica.isUp = true
    },
    async isLeader() {
      const health = await replica.service.call('GET', '/health').catch(() => null)
      return health?.body.checks?.info.ha.is_leader === true
    },
  }
  return replica
}
