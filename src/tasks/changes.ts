// Wakes those who wait for a task, when it changes in this process.

export interface Changes {
  /** Resolves when the task changes here, at the latest after `ms` milliseconds: other processes change it too. */
  next(id: number, ms: number): Promise<void>
  note(id: number): void
  /** Wakes everybody. */
  noteAll(): void
}

export function createChanges(): Changes {
  const waiting = new Map<number, Set<() => void>>()
  const note = (id: number) => {
    for (const wake of waiting.get(id) ?? []) wake()
  }
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
    note,
    noteAll() {
      for (const id of [...waiting.keys()]) note(id)
    },
  }
}
