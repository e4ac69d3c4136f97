// Claims tasks, has them run, renews their heartbeats, and gives them back when the process stops.
import { randomUUID } from 'node:crypto'
import { LANES, TaskCancelled, type TaskKind, type TaskLane } from '../domain/tasks.ts'
import { wait } from '../kernel/clock.ts'
import { createShared } from '../kernel/shared.ts'
import type { Events } from '../store/redis/events.ts'
import type { TaskRow } from '../store/tables.ts'
import { runTask, TaskStopped, type RunDeps } from './run.ts'
import { beat, claim, endOrphans, endRun, holdingInstances, type Hold } from './rows.ts'

/** How often a process renews its heartbeats and looks for tasks of other processes. */
const TICK_MS = 3_000
/** How long a stopping process waits for work that was asked to end. */
const GRACE_MS = 10_000

export interface RunnerDeps extends Omit<RunDeps, 'wakeAll'> {
  instanceId: string
  /** whether the process of an instance is known to be dead; its tasks are then taken over immediately */
  isDead(instanceId: string): Promise<boolean>
  isLeader(): boolean
  kinds: readonly TaskKind[]
  /** messages between replicas */
  events: Events
  /** milliseconds between two rounds; for tests */
  tickMs?: number
}

export interface Runner {
  start(): void
  /** Makes this process and other replicas look for tasks soon, because one was queued or cancelled. */
  wakeAll(): void
  /** Aborts the run of a task in this process, if it has one. */
  abort(id: number, reason: Error): void
  /** Aborts all runs and queues their tasks again. Waits some seconds for work that does not end. */
  stop(): Promise<void>
}

interface Run extends Hold {
  kind: string
  lane: TaskLane
  controller: AbortController
  ended: Promise<void>
}

export function createRunner(deps: RunnerDeps): Runner {
  const { db, clock, log, changes } = deps
  const runs = new Map<number, Run>()
  let stopping = false
  let timer: NodeJS.Timeout | null = null
  let failing = false

  /** Renews the heartbeats, and aborts tasks that were cancelled or lost. */
  async function renew(): Promise<void> {
    if (runs.size === 0) return
    const before = [...runs.values()]
    const held = new Map((await beat(db, before, clock.now())).map(({ id, state }) => [id, state]))
    for (const { id, controller } of before) {
      const state = held.get(id)
      if (state === 'cancelling') controller.abort(new TaskCancelled())
      if (state === undefined && runs.has(id))
        controller.abort(new TaskStopped('another process has taken the task over'))
    }
  }

  /** Whether another task of this kind may run here now. */
  function hasRoom({ kind, lane, leaderOnly, atOnce = 1 }: TaskKind): boolean {
    if (leaderOnly && !deps.isLeader()) return false
    const running = [...runs.values()]
    return (
      running.filter((run) => run.lane === lane).length < LANES[lane] &&
      running.filter((run) => run.kind === kind).length < atOnce
    )
  }

  async function claimAll(): Promise<void> {
    // If this process holds a task that is not in `own`, the end of its run could not be recorded.
    const dead = [deps.instanceId]
    for (const instance of await holdingInstances(db)) if (await deps.isDead(instance)) dead.push(instance)
    const survivors = () => ({ own: [...runs.values()].map(({ holder }) => holder), dead, now: clock.now() })
    for (const { id } of await endOrphans(db, survivors())) changes.note(id)
    while (!stopping) {
      const kinds = deps.kinds.filter(hasRoom)
      if (kinds.length === 0) return
      const holder = `${deps.instanceId}/${randomUUID()}`
      const names = kinds.map(({ kind }) => kind)
      const task = await claim(db, names, holder, survivors())
      if (!task) return
      begin(
        task,
        holder,
        kinds.find(({ kind }) => kind === task.kind)!,
      )
    }
  }

  function begin(task: TaskRow, holder: string, kind: TaskKind): void {
    const { id } = task
    const controller = new AbortController()
    const hold = { id, holder }
    const ended = runTask({ ...deps, wakeAll }, task, hold, kind, controller)
      .catch((error: unknown) => log.error({ err: error, task: id }, 'the end of a task could not be recorded'))
      .finally(() => {
        runs.delete(id)
        changes.note(id)
        wake()
      })
    runs.set(id, { ...hold, kind: kind.kind, lane: kind.lane, controller, ended })
    changes.note(id)
  }

  const round = createShared(async () => {
    if (stopping) return
    try {
      await renew()
      await claimAll()
      failing = false
    } catch (error) {
      // Logged once, because a database that is down would otherwise fill the log.
      if (!failing) log.warn({ err: error }, 'tasks cannot be read or claimed; trying again every few seconds')
      failing = true
    }
  })

  function wake(): void {
    if (timer && !stopping) void round()
  }

  function wakeAll(): void {
    wake()
    deps.events.send('queue')
  }
  deps.events.on('queue', wake)

  return {
    wakeAll,
    start() {
      timer = setInterval(wake, deps.tickMs ?? TICK_MS).unref()
      wake()
    },
    abort: (id, reason) => runs.get(id)?.controller.abort(reason),
    async stop() {
      stopping = true
      if (timer) clearInterval(timer)
      // Waits for a running claim first.
      await round()
      const left = [...runs.values()]
      for (const { controller } of left) controller.abort(new TaskStopped('the service is stopping'))
      await Promise.race([Promise.all(left.map(({ ended }) => ended)), wait(GRACE_MS)])
      for (const { id, holder, kind } of runs.values()) {
        log.warn({ task: id, kind }, 'a task did not end in time; it is queued again')
        await endRun(db, { id, holder }, { event: 'stop' }, clock.now()).catch((error: unknown) =>
          log.warn({ err: error, task: id }, 'the task could not be queued again'),
        )
      }
      changes.noteAll()
    },
  }
}
