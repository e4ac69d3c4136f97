// What an empty list of security updates means: that there are none, or that nobody looked. Pure.
import type { Answered } from '../../api/api.ts'

type Source = Pick<Answered<'GET /import/sources'>['sources'][number], 'name' | 'security' | 'enabled' | 'last_sync'>

export interface Looked {
  /** security sources that are read */
  read: number
  /** names of those that are switched on and never were */
  never: string[]
  /** when the one that was read longest ago was read */
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
