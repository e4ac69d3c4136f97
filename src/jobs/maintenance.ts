// What keeps a running service tidy: lease, heartbeat, recovery, collection, lists behind the packages. All repeatable.
import type { Clock } from '../kernel/clock.ts'
import { createShared } from '../kernel/shared.ts'
import type { Log } from '../kernel/log.ts'
import { LEASE_MS, RENEW_MS, type Leader } from './leader.ts'
import type { Collector } from '../publish/tree/collect.ts'
import type { Outbox } from '../notify/outbox.ts'
import { refreshContents } from '../publish/background/contents.ts'
import type { Offered } from '../formats/format.ts'
import type { Publisher } from '../publish/publisher.ts'
import type { AuditLog } from '../store/audit-log.ts'
import type { Db } from '../store/db.ts'
import type { Manifests } from '../store/records/manifests.ts'
import type { Paths } from '../store/paths.ts'
import { HEARTBEAT_MS, type Staging } from '../store/files/staging.ts'

const MINUTE = 60_000
/** A distribution without a publish for so long is quiet enough for its list of files. */
const QUIET_MS = 20_000

export interface Maintenance {
  /** Everything once, as after a crash; then again and again until `stop`. */
  start(): Promise<void>
  stop(): Promise<void>
}

export function createMaintenance(parts: {
  db: Db
  clock: Clock
  paths: Paths
  log: Log
  leader: Leader
  staging: Staging
  manifests: Manifests
  publisher: Publisher
  collector: Collector
  audit: AuditLog
  active: readonly Offered[]
  outboxes: readonly Outbox[]
  /** makes the list of advisories that offered packages mend, where the format has one and something changed */
  updateinfo(offered: Offered): Promise<boolean>
  /** reads what lies inside stored files */
  libraries: { catchUp(): Promise<unknown> }
}): Maintenance {
  const { db, leader, log } = parts
  const timers: NodeJS.Timeout[] = []
  const running = new Set<Promise<void>>()
  let stopping = false

  /** Each step by itself: a full disk that stops one must not stop the others, nor the start. */
  const recover = createShared(async () => {
    const steps: [string, () => Promise<unknown>][] = [
      ['arrivals', parts.staging.sweep],
      ['manifests', parts.manifests.catchUp],
      ['distributions', publishAgain],
      ['debris', parts.collector.debris],
      ['audit', parts.audit.flush],
    ]
    for (const [what, step] of steps)
      await step().catch((error: unknown) =>
        log.error({ err: error }, `recovery of ${what} failed; tried again in a minute`),
      )
  })

  async function publishAgain(): Promise<void> {
    const failed = await parts.publisher.recover()
    if (failed.length > 0) log.warn({ distributions: failed }, 'could not be published; tried again in a minute')
  }

  /** A new leader begins with what the one before left behind. */
  async function renew(): Promise<void> {
    const before = leader.isLeader()
    await leader.tick()
    if (!before && leader.isLeader()) void recover()
  }

  async function contents(): Promise<void> {
    const quiet = new Date(parts.clock.now().getTime() - QUIET_MS)
    for (const offered of parts.active) {
      const row = await db
        .selectFrom('distributions')
        .select('published_at')
        .where('codename', '=', offered.distribution.codename)
        .executeTakeFirst()
      if (!row?.published_at || row.published_at >= quiet) continue
      await refreshContents(db, parts.paths, parts.publisher, offered)
      await parts.updateinfo(offered)
    }
  }

  function every(name: string, ms: number, work: () => Promise<void>, leaderOnly = true): void {
    let busy = false
    const timer = setInterval(() => {
      if (busy || (leaderOnly && !leader.isLeader())) return
      busy = true
      const run = work()
        .catch((error: unknown) => log.error({ err: error }, `${name} failed`))
        .finally(() => {
          busy = false
          running.delete(run)
        })
      running.add(run)
    }, ms)
    timers.push(timer.unref())
  }

  return {
    async start() {
      await leader.tick()
      if (leader.isLeader()) await recover()
      every('lease', RENEW_MS, renew, false)
      every('heartbeat', HEARTBEAT_MS, () => parts.staging.heartbeat(), false)
      every('audit', LEASE_MS, () => parts.audit.flush())
      for (const { name, deliver } of parts.outboxes)
        every(
          `notifications by ${name}`,
          RENEW_MS,
          async () => void (await deliver(() => !stopping && leader.isLeader())),
        )
      every('recovery', MINUTE, recover)
      every('libraries', MINUTE, async () => void (await parts.libraries.catchUp()))
      every('contents', QUIET_MS, contents)
      every('block cache', MINUTE, () => parts.publisher.saveBlocks(), false)
      every('collection', 60 * MINUTE, () => parts.collector.collect())
      if (leader.isLeader())
        await parts.collector.collect().catch((error: unknown) => log.error({ err: error }, 'collection failed'))
    },
    async stop() {
      stopping = true
      for (const timer of timers) clearInterval(timer)
      await Promise.allSettled(running)
      await parts.publisher.saveBlocks().catch((error: unknown) => log.error({ err: error }, 'block cache'))
      await parts.audit.flush().catch((error: unknown) => log.error({ err: error }, 'audit'))
      await leader.resign().catch(() => {})
      await parts.staging.close().catch(() => {})
    },
  }
}
