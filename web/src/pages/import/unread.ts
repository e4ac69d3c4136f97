// What an empty list of security updates means: that there are none, or that nobody checked. Pure.
import type { Answered } from '../../api/api.ts'

type Source = Pick<Answered<'GET /import/sources'>['sources'][number], 'name' | 'security' | 'enabled' | 'last_sync'>

export interface Looked {
  /** number of security sources that were read */
  read: number
  /** names of enabled sources that were never read */
  never: string[]
  /** the oldest time at which one of them was last read */
  oldest: string | null
}

export function looked(sources: readonly Source[]): Looked {
  const security = sources.filter((one) => one.security)
  const times = security.flatMap(({ last_sync: at }) => at ?? []).sort()
  return {
    read: times.length,
    never: security.filter((one) => one.enabled && one.last_sync === null).map(({ name }) => name),
    oldest: times[0] ?? null,
  }
}
