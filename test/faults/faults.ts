// The faults in an operator's life, as a table: how each begins and ends, and when its recovery begins.
import { existsSync, readdirSync } from 'node:fs'
import type { Load } from './load.ts'
import type { Replica, Replicas } from './replicas.ts'

export interface Fault {
  name: string
  /** part of the short run for each change; the long form runs all */
  isShort?: true
  /** @returns when the fault is over or complete: recovery is measured from then on */
  happens(system: Replicas, load: Load): Promise<void>
  /** Fixes what needs an operator; recovery is measured before */
  mended?(system: Replicas): Promise<void>
}

async function both({ all }: Replicas, work: (replica: Replica) => Promise<void>): Promise<void> {
  await Promise.all(all.map(work))
}

export const FAULTS: Fault[] = [
  {
    name: 'kill -9 of a listener of each replica',
    happens: (system) => both(system, (replica) => replica.signal('listener', 'SIGKILL', 1)),
  },
  {
    name: 'kill -9 of the API of the leader',
    isShort: true,
    happens: async (system) => (await system.byLead()).leader.signal('api', 'SIGKILL'),
  },
  {
    name: 'kill -9 of the API of the passive one',
    happens: async (system) => (await system.byLead()).passive.signal('api', 'SIGKILL'),
  },
  {
    name: 'kill -9 of the parent of the leader, which is started again',
    async happens(system) {
      const { leader } = await system.byLead()
      leader.isUp = false
      await leader.service.kill()
      await leader.start()
    },
  },
  {
    name: 'Redis killed and away for some uploads',
    isShort: true,
    async happens(system, load) {
      await system.redis.kill()
      await load.sees(5, /^201 /)
      await system.redis.start()
    },
  },
  ...(['fast', 'immediate'] as const).map((mode): Fault => ({
    name: `PostgreSQL stopped (${mode}) and away until uploads are refused`,
    async happens(system, load) {
      await system.postgres.stop(mode)
      await load.sees(5, /^503 database_unavailable/)
      await system.postgres.start()
    },
  })),
  ...(['fast', 'immediate'] as const).map((mode): Fault => ({
    name: `PostgreSQL restarted (${mode})`,
    ...(mode === 'immediate' && { isShort: true }),
    async happens(system) {
      await system.postgres.stop(mode)
      await system.postgres.start()
    },
  })),
  {
    name: 'REPOS_DIR full until uploads are refused',
    isShort: true,
    async happens(system, load) {
      await system.disk.leave(0, 'pages')
      await load.sees(3, /^500 storage_full/)
      await system.disk.free()
    },
  },
  {
    name: "PostgreSQL's disk full until uploads are refused",
    async happens(system, load) {
      await system.databaseDisk.leave(0, 'pages')
      await load.sees(3, /^50[03] (storage_full|database_)/)
      await system.databaseDisk.free()
    },
  },
  {
    name: 'SIGSTOP of the API of the leader, until the other leads',
    async happens(system) {
      const { leader, passive } = await system.byLead()
      leader.isUp = false
      await leader.signal('api', 'SIGSTOP')
      while (!(await passive.isLeader()));
    },
    async mended(system) {
      for (const replica of system.all.filter(({ isUp }) => !isUp)) {
        await replica.signal('api', 'SIGCONT')
        replica.isUp = true
      }
    },
  },
  {
    name: 'SIGSTOP of the API of the leader while it publishes',
    isShort: true,
    async happens(system) {
      const { leader } = await system.byLead()
      // Before its commit the row of the distribution is locked; then the process sends nothing more to the database.
      await leader.forwarder.freezeAt(/commit/)
      leader.isUp = false
      await leader.signal('api', 'SIGSTOP')
    },
    async mended(system) {
      for (const replica of system.all.filter(({ isUp }) => !isUp)) {
        await replica.signal('api', 'SIGKILL')
        replica.forwarder.thaw()
        replica.isUp = true
      }
    },
  },
  {
    name: 'the clock of one replica two minutes fast',
    async happens(system, load) {
      const { passive } = await system.byLead()
      await restarted(passive, { LD_PRELOAD: faketime(), FAKETIME: '+120s', DONT_FAKE_MONOTONIC: '1' })
      await load.sees(5, /^201 /, passive)
    },
    async mended(system) {
      await restarted((await system.byLead()).passive)
    },
  },
  {
    name: 'the database away while both APIs are killed',
    async happens(system, load) {
      await both(system, (replica) => replica.forwarder.stop())
      await both(system, (replica) => replica.signal('api', 'SIGKILL'))
      await load.sees(10, /^0 ECONNREFUSED/)
      await both(system, (replica) => replica.forwarder.start())
    },
  },
]

/** With the packages in an object store. */
export const OBJECT_STORE_FAULTS: Fault[] = [
  {
    name: 'the object store killed until uploads are refused',
    async happens({ objects }, load) {
      await objects!.kill()
      await load.sees(3, /^503 /)
      await objects!.start()
    },
  },
  {
    name: 'the object store stopped (it hangs) until uploads are refused',
    async happens({ objects }, load) {
      const thaw = objects!.freeze()
      await load.sees(2, /^503 /)
      thaw()
    },
  },
  {
    name: 'kill -9 of the API of the leader, with an object store',
    happens: async (system) => (await system.byLead()).leader.signal('api', 'SIGKILL'),
  },
]

async function restarted(replica: Replica, env: Record<string, string> = {}): Promise<void> {
  replica.isUp = false
  await replica.service.stop()
  await replica.start(env)
}

/** The value of LD_PRELOAD; the directory is named after the architecture. */
export function faketime(): string {
  const found = readdirSync('/usr/lib').map((name) => `/usr/lib/${name}/faketime/libfaketime.so.1`)
  const library = found.find((path) => existsSync(path))
  if (!library) throw new Error('the Debian package faketime has no library')
  return library
}
