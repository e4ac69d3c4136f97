// The task of `POST /distributions/init`: publishes the index of every active distribution again.
import type { TaskKind } from '../domain/tasks.ts'
import type { Offered } from '../formats/format.ts'
import type { InitResult } from './initialize.ts'
import type { Publisher } from './publisher.ts'

export const INIT = 'init_distributions'

export interface Initialized {
  results: InitResult[]
}

export function initializeKind(deps: {
  publisher: Pick<Publisher, 'initialize'>
  all: readonly Offered[]
  isActive(codename: string): boolean
}): TaskKind {
  return {
    kind: INIT,
    lane: 'maintenance',
    leaderOnly: false,
    async run() {
      const active = deps.all.filter(({ distribution }) => deps.isActive(distribution.codename))
      const results = await deps.publisher.initialize(active)
      return { results: results.map((result) => ({ ...result })) }
    },
  }
}
