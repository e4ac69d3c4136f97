// Long work that outlives the process that began it: the states of a task, and the input of its work. Pure.
import type { Json } from './json.ts'

export const TASK_STATES = ['queued', 'running', 'cancelling', 'done', 'failed', 'cancelled'] as const
export type TaskState = (typeof TASK_STATES)[number]

export type TaskEvent = 'claim' | 'take_over' | 'stop' | 'succeed' | 'fail' | 'cancel'

export interface TaskTransition {
  from: TaskState
  event: TaskEvent
  /** the condition, in words for people */
  when: string
  to: TaskState
}

/** Every change of a task's state, declared once; the SQL of `tasks/rows.ts` is made from it. */
export const TASK_TRANSITIONS: readonly TaskTransition[] = [
  { from: 'queued', event: 'claim', when: 'a process has a free slot for its kind', to: 'running' },
  { from: 'queued', event: 'cancel', when: 'a person cancels it before it begins', to: 'cancelled' },
  { from: 'running', event: 'take_over', when: 'the process that runs it is dead', to: 'running' },
  { from: 'running', event: 'stop', when: 'its process shuts down', to: 'queued' },
  { from: 'running', event: 'succeed', when: 'the work returns', to: 'done' },
  { from: 'running', event: 'fail', when: 'the work throws, or too many of its processes died', to: 'failed' },
  { from: 'running', event: 'cancel', when: 'a person cancels it', to: 'cancelling' },
  { from: 'cancelling', event: 'cancel', when: 'a person cancels it again', to: 'cancelling' },
  { from: 'cancelling', event: 'stop', when: 'the work ends early, or its process is dead', to: 'cancelled' },
  { from: 'cancelling', event: 'succeed', when: 'the work returns before it learns of it', to: 'done' },
  { from: 'cancelling', event: 'fail', when: 'the work throws before it learns of it', to: 'failed' },
]

/** @returns null when the event is not allowed in that state */
export function taskStateAfter(from: TaskState, event: TaskEvent): TaskState | null {
  return TASK_TRANSITIONS.find((transition) => transition.from === from && transition.event === event)?.to ?? null
}

/** Whether a process holds a task in this state. */
export function isHeld(state: TaskState): boolean {
  return state === 'running' || state === 'cancelling'
}

/** Whether the state is final. */
export function isEnded(state: TaskState): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled'
}

/** A request for a task. */
export interface TaskRequest {
  kind: string
  /** what it is about, e.g. a codename; empty when the kind needs none */
  key?: string
  arguments?: Json
  createdBy: string
  requestId?: string | null
}

/** The input of a task's work. */
export interface TaskContext {
  id: number
  /** what it is about */
  key: string
  arguments: Json
  /** from 1; greater when earlier processes died while they ran it */
  attempt: number
  /** what `save` stored last, also by an earlier process; null at the beginning */
  cursor: unknown
  /** Stores where to continue after a crash: JSON of a few kilobytes. Rejects when another process has taken over. */
  save(cursor: Json): Promise<void>
  /** Adds a log line that people can follow. Never throws and does not wait. */
  line(message: string, data?: Json): void
  /** Queues a task that follows from this one. @returns its id */
  enqueue(request: Omit<TaskRequest, 'createdBy' | 'requestId'>): Promise<number>
  /** Aborts on cancellation (`TaskCancelled`), on shutdown, and when another process takes over; the work throws its reason. */
  signal: AbortSignal
}

/** The abort reason of a cancelled task's signal. It never reaches a client. */
export class TaskCancelled extends Error {
  constructor() {
    super('the task is cancelled')
  }
}

/** The part of the context that interruptible work needs. */
export type TaskProgress = Pick<TaskContext, 'cursor' | 'save' | 'line' | 'signal'>

/**
 * How many tasks of each lane one process runs at the same time. Lanes do not wait for each other. A kind whose tasks wait for
 * tasks of another kind is in another lane: mirrors and runs of several syncs wait for syncs.
 */
export const LANES = {
  /** what a person or a publish waits for */
  interactive: 2,
  maintenance: 2,
  /** as many as its kinds may have at once: two imports, two mirrors */
  bulk: 4,
  sync: 2,
} as const
export type TaskLane = keyof typeof LANES

/** A kind of task, declared beside the work it does. */
export interface TaskKind {
  kind: string
  lane: TaskLane
  /** true: only the leader runs it */
  leaderOnly: boolean
  /** most tasks of this kind (with different keys) that one process runs at the same time; 1 by default */
  atOnce?: number
  /** @returns the result that clients see, at most some kilobytes of JSON; a thrown Problem is shown as the reason */
  run(context: TaskContext): Promise<Json>
}
