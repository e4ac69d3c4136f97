// Which process may run what only one may: a lease in the database, renewed while it lives. Knows no job.
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../store/db.ts'

export const LEASE_MS = 15_000
export const RENEW_MS = 5_000

export interface Leader {
  isLeader(): boolean
  /** Takes or renews the lease; a failing database ends the right when the lease runs out. */
  tick(): Promise<void>
  resign(): Promise<void>
}

export function createLeader(parts: { db: Db; clock: Clock; instanceId: string }): Leader {
  const { db, clock, instanceId } = parts
  let until = 0
  return {
    isLeader: () => clock.now().getTime() < until,
    async tick() {
      const now = clock.now().getTime()
      const lease = { name: 'leader', holder: instanceId, expires_at: new Date(now + LEASE_MS) }
      const held = await db
        .insertInto('leases')
        .values(lease)
        .onConflict((c) =>
          c
            .column('name')
            .doUpdateSet(lease)
            .where((eb) => eb.or([eb('leases.holder', '=', instanceId), eb('leases.expires_at', '<', new Date(now))])),
        )
        .returning('holder')
        .executeTakeFirst()
      until = held ? now + LEASE_MS : 0
    },
    async resign() {
      until = 0
      await db.deleteFrom('leases').where('name', '=', 'leader').where('holder', '=', instanceId).execute()
    },
  }
}
