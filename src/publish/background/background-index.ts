// Indexes that are made some time after a publish, and the task that makes them for one distribution.
import type { TaskKind } from '../../domain/tasks.ts'
import type { Offered } from '../../formats/format.ts'

export interface BackgroundIndex {
  name: 'Contents' | 'updateinfo'
  /** Whether the format has this index, and something changed since it was made. */
  isDue(offered: Offered): Promise<boolean>
  /** Makes and publishes it if it is due. @returns whether it was */
  make(offered: Offered, signal: AbortSignal): Promise<boolean>
}

export const BACKGROUND_INDEXES = 'background_indexes'

/** The key of the task is a codename. The task has no cursor: after a crash the indexes are made from the beginning. */
export function backgroundIndexesKind(deps: {
  indexes: readonly BackgroundIndex[]
  find(codename: string): Offered | null
}): TaskKind {
  return {
    kind: BACKGROUND_INDEXES,
    lane: 'interactive',
    leaderOnly: true,
    async run({ key, line, signal }) {
      const offered = deps.find(key)
      const made: string[] = []
      // The distribution may have been removed since the task was queued.
      if (!offered) return { made }
      for (const { name, make } of deps.indexes) {
        signal.throwIfAborted()
        if (!(await make(offered, signal))) continue
        made.push(name)
        line(`${name} is published`)
      }
      return { made }
    },
  }
}
