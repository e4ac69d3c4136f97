// The advisories of the embedded matcher as an engine with a state and an update: which feeds there are, how old they are.
import { Problem } from '../../../domain/problem.ts'
import type { Distribution } from '../../../domain/package.ts'
import { isoTimeOrNull, type Clock } from '../../../kernel/clock.ts'
import { ageOfFeed, silentStatus, type EngineStatus, type UpdateOutcome } from '../scanner.ts'
import type { AdvisoryState, FeedState } from '../../../domain/advisory-store.ts'
import { newestOf } from './advisories.ts'
import { BUCKETS, ecosystemOf } from './ecosystems.ts'
import type { ImportResult, OsvImporter } from './import.ts'

export interface AdvisoryData {
  /** whether there is anything to read: a closed network may have nothing */
  readonly hasSources: boolean
  /** never throws */
  status(): Promise<EngineStatus>
  /** seconds since the least recently read feed was read; null before the first read */
  ageSeconds(): Promise<number | null>
  /**
   * Reads the directory, and each ecosystem of the bucket that was last read a day ago or more.
   * @param options.force reads them even if they are fresh
   * @param options.signal ends the update before the next batch of advisories; the feed it reads keeps its last state
   * @throws Problem('already_running')
   */
  update(progress?: (line: string) => void, options?: { force?: boolean; signal?: AbortSignal }): Promise<UpdateOutcome>
}

export interface AdvisoryDataDeps {
  advisories: { state(): Promise<AdvisoryState>; feeds(): Promise<FeedState[]> }
  importer: OsvImporter
  /** null: none is asked */
  url: string | null
  /** zip files, JSON files or a copy of the bucket; null for none */
  directory: string | null
  distributions: readonly Distribution[]
  clock: Clock
  version: string
}

export function createAdvisoryData(deps: AdvisoryDataDeps): AdvisoryData {
  const { advisories, importer, clock } = deps
  let running = false

  const inForce = async () => (await advisories.feeds()).filter((feed) => feed.digest !== null)

  async function importAll(
    progress: (line: string) => void,
    force: boolean,
    signal: AbortSignal | undefined,
  ): Promise<ImportResult[]> {
    const results: ImportResult[] = []
    const note = (result: ImportResult) => {
      results.push(result)
      progress(`${result.feed}: ${result.message}`)
    }
    if (deps.directory) {
      const failed = (error: unknown): ImportResult => ({
        feed: 'directory',
        outcome: 'failed',
        advisories: 0,
        changed: 0,
        removed: 0,
        skipped: [],
        message:
          error instanceof Problem ? error.detail : `the directory could not be read: ${(error as Error).message}`,
      })
      signal?.throwIfAborted()
      note(await importer.importDirectory(deps.directory, 'directory', signal).catch(failed))
    }
    if (deps.url) {
      // One by one, so that the progress of each is reported.
      for (const ecosystem of bucketsFor(deps.distributions)) {
        signal?.throwIfAborted()
        for (const result of await importer.refresh({ ...{ url: deps.url, ecosystems: [ecosystem], force }, signal }))
          note(result)
      }
    }
    return results
  }

  return {
    hasSources: deps.url !== null || deps.directory !== null,

    async status() {
      try {
        const [state, feeds] = await Promise.all([advisories.state(), inForce()])
        const available = deps.distributions.some((distribution) => coversOf(state, distribution).length > 0)
        const read = feeds.flatMap((feed) => feed.checkedAt ?? []).sort((a, b) => b.getTime() - a.getTime())[0] ?? null
        return {
          available,
          engine: 'osv',
          version: deps.version,
          db_version: String(state.generation),
          db_date: newestOf(state.ecosystems, Object.keys(state.ecosystems)),
          db_updated_at: isoTimeOrNull(read),
          db_files: feeds.map((feed) => feed.name),
          feeds: feeds.map(ageOfFeed),
          daemon_running: false,
          cooldown_until: null,
          error: available ? null : 'no advisories for the distributions offered have been imported',
        }
      } catch (error) {
        return { ...silentStatus('osv', (error as Error).message), version: deps.version }
      }
    },

    async ageSeconds() {
      const read = (await inForce()).flatMap((feed) => feed.checkedAt?.getTime() ?? [])
      return read.length === 0 ? null : Math.max(0, Math.round((clock.now().getTime() - Math.min(...read)) / 1000))
    },

    async update(progress = () => {}, { force = false, signal } = {}) {
      if (running) throw new Problem('already_running', 'the advisories are being updated already')
      running = true
      try {
        const results = await importAll(progress, force, signal)
        signal?.throwIfAborted()
        const failed = results.filter((result) => result.outcome === 'failed')
        const imported = results.filter((result) => result.outcome === 'imported')
        const said =
          failed.length > 0
            ? `${failed.length} of ${results.length} failed, the last good ones stay: ${failed[0]?.message}`
            : null
        if (results.length === 0)
          return { status: 'failed', message: 'neither an address nor a directory of advisories is configured' }
        if (imported.length > 0) {
          const changed = imported.reduce((sum, result) => sum + result.changed + result.removed, 0)
          return {
            status: 'updated',
            message: [`${imported.length} feeds read, ${changed} advisories changed`, said].filter(Boolean).join('; '),
          }
        }
        return failed.length > 0
          ? { status: 'failed', message: said as string }
          : { status: 'up_to_date', message: 'nothing has changed' }
      } finally {
        running = false
      }
    },
  }
}

/** The ecosystems of the state with advisories for a distribution. */
export function coversOf(state: AdvisoryState, distribution: Distribution): string[] {
  const ecosystem = ecosystemOf(distribution.scannerDistro)
  return ecosystem ? Object.keys(state.ecosystems).filter((name) => ecosystem.covers(name)) : []
}

/** The families of ecosystems with advisories about one of the distributions, then the ecosystems of the languages. */
function bucketsFor(distributions: readonly Distribution[]): string[] {
  const families = new Set(
    distributions.flatMap(({ scannerDistro }) => ecosystemOf(scannerDistro)?.name.split(':')[0] ?? []),
  )
  return BUCKETS.filter((bucket) => families.has(bucket) || ['npm', 'PyPI', 'Maven'].includes(bucket))
}
