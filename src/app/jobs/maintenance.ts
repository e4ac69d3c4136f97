// Runs the chores of chores.ts on their intervals, each at most once at a time, and stops them in order.
import { atMost } from '../../kernel/in-time.ts'
import type { Log } from '../../kernel/log.ts'
import type { Leader } from './leader.ts'
import { createChores, type Chore, type ChoreDeps } from './chores.ts'

/** How long a stopping service waits for chores. */
const GRACE_MS = 4_000

export interface Maintenance {
  /** Runs the recovery once, as after a crash, and then each chore at its interval until `stop`. */
  start(): Promise<void>
  stop(): Promise<void>
}

export function createMaintenance(deps: Omit<ChoreDeps, 'stopping'> & { log: Log; leader: Leader }): Maintenance {
  const { leader, log, publisher, audit, staging } = deps
  const timers: NodeJS.Timeout[] = []
  const running = new Set<Promise<void>>()
  let stopping = false
  const { signsOfLife, chores, recover, collect } = createChores({ ...deps, stopping: () => stopping })
  const attempt = (name: string, work: () => Promise<unknown>) =>
    work().then(
      () => undefined,
      (error: unknown) => log.error({ err: error }, `${name} failed`),
    )

  function schedule({ name, everyMs, leaderOnly, run }: Chore): void {
    let busy = false
    const timer = setInterval(() => {
      if (busy || (leaderOnly && !leader.isLeader())) return
      busy = true
      const ended = attempt(name, run).finally(() => {
        busy = false
        running.delete(ended)
      })
      running.add(ended)
    }, everyMs)
    timers.push(timer.unref())
  }

  return {
    async start() {
      await leader.tick()
      // A recovery may take longer than a lease lasts, and requests are served meanwhile.
      for (const chore of signsOfLife) schedule(chore)
      if (leader.isLeader()) await recover()
      if (stopping) return
      for (const chore of chores) schedule(chore)
      if (leader.isLeader()) await attempt('collection', collect)
    },
    async stop() {
      stopping = true
      for (const timer of timers) clearInterval(timer)
      // A receiver of notifications may not answer; work that is cut off here is repeated.
      await atMost(GRACE_MS, Promise.allSettled([...running, publisher.settled()]))
      await attempt('saving the block cache', publisher.saveBlocks)
      await attempt('filing the audit log', audit.flush)
      await attempt('signing the audit log', deps.checkpoints.write)
      await attempt('giving up the lease', leader.resign)
      await attempt('closing the staging directory', staging.close)
    },
  }
}
