// The databases of external scanners beside the advisories of the embedded matcher: one state, one update.
import type { Clock } from '../../../kernel/clock.ts'
import type { AdvisoryData } from '../osv/data.ts'
import type { EngineStatus, UpdateOutcome } from '../scanner.ts'
import type { ExternalScanner } from './scanner.ts'

const MAX_AGE_MS = 24 * 60 * 60_000
/** A status costs a process that reads the whole database, which has gigabytes. */
const STATUS_MS = 5 * 60_000

/**
 * All of them as one: state and age are those of the first scanner, an update updates all.
 * @param first name of the scanner that judges arrivals
 */
export function withExternal(
  advisories: AdvisoryData,
  external: readonly ExternalScanner[],
  first: string,
  clock: Clock,
): AdvisoryData {
  if (external.length === 0) return advisories
  const seen = new Map<string, { at: number; status: Promise<EngineStatus> }>()

  function statusOf(scanner: ExternalScanner): Promise<EngineStatus> {
    const now = clock.now().getTime()
    const before = seen.get(scanner.name)
    if (before && now - before.at < STATUS_MS) return before.status
    const status = scanner.status()
    seen.set(scanner.name, { at: now, status })
    return status
  }

  async function updateOne(
    scanner: ExternalScanner,
    progress: (line: string) => void,
    force: boolean,
  ): Promise<UpdateOutcome> {
    const { db_date: date } = await scanner.status()
    if (!force && date !== null && clock.now().getTime() - Date.parse(date) < MAX_AGE_MS)
      return { status: 'up_to_date', message: 'it is less than a day old' }
    const outcome = await scanner.update((line) => progress(`${scanner.name}: ${line}`))
    seen.delete(scanner.name)
    return outcome
  }

  const judge = external.find(({ name }) => name === first)
  return {
    hasSources: true,
    status: () => (judge ? statusOf(judge) : advisories.status()),
    async ageSeconds() {
      if (!judge) return advisories.ageSeconds()
      const { db_date: date } = await statusOf(judge)
      return date === null ? null : Math.max(0, Math.round((clock.now().getTime() - Date.parse(date)) / 1000))
    },
    async update(progress = () => {}, { force = false } = {}) {
      const own = await advisories.update(progress, { force })
      const results: [string, UpdateOutcome][] = [['osv', own]]
      for (const scanner of external) results.push([scanner.name, await updateOne(scanner, progress, force)])
      const words = results.map(([, { status }]) => status)
      // The embedded matcher may have no source of advisories: its failure counts only if it judges arrivals.
      const failed = results.some(([name, { status }]) => status === 'failed' && (name !== 'osv' || first === 'osv'))
      const status = words.includes('updated') ? 'updated' : failed ? 'failed' : 'up_to_date'
      return { status, message: results.map(([name, { message }]) => `${name}: ${message}`).join('; ') }
    },
  }
}
