// Wakes callers that wait for a task when the task changes, in this process or in another replica.
import type { Events } from '../store/redis/events.ts'

export interface Changes {
  /** Resolves when the task changes, or after `ms` milliseconds, because messages of other replicas can be lost. */
  next(id: number, ms: number): Promise<void>
  /** Wakes callers that wait for this task, here and in other replicas. */
  note(id: number): void
  /** Wakes all callers in this process. */
  noteAll(): void
}

export function createChanges(events: Events): Changes {
  const waiting = new Map<number, Set<() => void>>()
  const wakeAll = (id: number) => {
    for (const wake of waiting.get(id) ?? []) wake()
  }
  events.on('task', (id) => wakeAll(Number(id)))
  return {
    next(id, ms) {
      return new Promise((resolve) => {
        const wakers = waiting.get(id) ?? new Set()
        waiting.set(id, wakers)
        const wake = () => {
          clearTimeout(timer)
          wakers.delete(wake)
          if (wakers.size === 0 && waiting.get(id) === wakers) waiting.delete(id)
          resolve()
        }
        const timer = setTimeout(wake, ms).unref()
        wakers.add(wake)
      })
    },
    note(id) {
      wakeAll(id)
      events.send('task', String(id))
    },
    noteAll() {
      for (const id of [...waiting.keys()]) wakeAll(id)
    },
  }
}
