// Imports advisories from files and from an OSV bucket. A source that cannot be read completely changes nothing.
import { createHash, randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as othersTurn } from 'node:timers/promises'
import { Problem } from '../../../domain/problem.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { AdvisoryImport, FeedState, NewAdvisory } from '../../../domain/advisory-store.ts'
import type { AdvisoryWriter } from './advisories.ts'
import { BUCKETS, ecosystemOf, orderName } from './ecosystems.ts'
import { parseJson } from '../../../domain/json.ts'
import type { FormatOrder } from './orders.ts'
import { readRecord } from './record.ts'
import { directorySource, zipSource, type AdvisorySource } from './sources.ts'

export interface ImportResult {
  feed: string
  /** `fresh`: checked less than a day ago; `unchanged`: the same bytes as last time; `failed`: the previous advisories stay */
  outcome: 'imported' | 'unchanged' | 'fresh' | 'failed'
  /** advisories now in force */
  advisories: number
  /** of them new or different from the last import */
  changed: number
  removed: number
  /** files that hold no readable record; the last good version of each stays */
  skipped: { name: string; reason: string }[]
  message: string
}

export interface OsvImporter {
  /** @throws Problem('upstream_error') when the archive is broken, holds no advisories or suspiciously few */
  importZip(path: string, feed?: string): Promise<ImportResult>
  /** as `importZip`, for a directory of JSON files, zip files or a copy of the bucket */
  importDirectory(path: string, feed?: string, signal?: AbortSignal): Promise<ImportResult>
  /**
   * Fetches `<url>/<ecosystem>/all.zip` of each ecosystem that was last checked 24 hours ago or more; one that fails
   * does not hinder the others.
   * @param options.signal ends the import early; the source that is being read has then changed nothing
   * @throws the reason of the signal
   */
  refresh(options: {
    url: string
    ecosystems?: readonly string[]
    force?: boolean
    signal?: AbortSignal | undefined
  }): Promise<ImportResult[]>
}

const MAX_AGE_MS = 24 * 60 * 60 * 1000
/** Changes whenever a release keeps different parts of a record, so that unchanged files are read again. */
const READER = 'reader 2'
/** A kernel advisory has hundreds of affected packages, so a batch is limited by these too. */
const BATCH_ENTRIES = 2000
const BATCH_ADVISORIES = 500
const SKIPPED_SHOWN = 20
/** Bytes between two turns of the event loop: parsing them takes some ten milliseconds. */
const TURN_BYTES = 64 * 1024

/**
 * @param download fetches a URL into a new file; throws when it did not arrive complete, or the signal aborts
 * @param workDirectory existing directory for downloads, on any file system
 * @param distros scanner ids of the distributions offered: advisories about others are left out; without this, all are kept
 */
export function createOsvImporter(deps: {
  advisories: AdvisoryWriter
  compare: FormatOrder
  clock: Clock
  download: (url: string, toPath: string, signal: AbortSignal | undefined) => Promise<void>
  workDirectory: string
  distros?: readonly string[]
}): OsvImporter {
  const { advisories, clock } = deps
  const wanted = wantedBy(deps.distros)
  const scope = JSON.stringify([READER, deps.distros ?? null])

  async function bring(feed: string, source: AdvisorySource, signal?: AbortSignal): Promise<ImportResult> {
    const before = await advisories.feed(feed)
    const digest = createHash('sha256')
      .update(scope)
      .update(await readable(source, () => source.digest()))
      .digest('hex')
    if (before?.digest === digest) {
      await advisories.noteChecked(feed, null)
      return told(feed, 'unchanged', before, `${source.name} has not changed`)
    }
    const under = await advisories.begin(feed)
    try {
      const read = await readAll(source, under, signal)
      refuseLoss(source, read, before)
      const { removed } = await under.finish({ digest, advisories: read.seen.size, keep: (id) => read.seen.has(id) })
      return {
        feed,
        outcome: 'imported',
        advisories: read.seen.size,
        changed: read.changed,
        removed,
        skipped: read.skipped.slice(0, SKIPPED_SHOWN),
        message:
          `${read.seen.size} advisories, ${read.changed} new or changed, ${removed} gone from the source` +
          (read.skipped.length === 0
            ? ''
            : `; ${read.skipped.length} unreadable files skipped, the first ${read.skipped[0]!.name}: ${read.skipped[0]!.reason}`),
      }
    } catch (error) {
      await under.abandon()
      throw error
    }
  }

  async function readAll(source: AdvisorySource, under: AdvisoryImport, signal: AbortSignal | undefined) {
    // By id, when its record was modified: of two records with the same id the newer counts.
    const seen = new Map<string, string>()
    const skipped: ImportResult['skipped'] = []
    const changed = new Set<string>()
    const batch = new Map<string, NewAdvisory>()
    let entries = 0
    let turn = 0
    const flush = async () => {
      if (batch.size > 0) await under.put([...batch.values()])
      batch.clear()
      entries = 0
    }
    const consider = (record: NewAdvisory) => {
      const { id, modified } = record.advisory
      const earlier = seen.get(id)
      if (earlier !== undefined && earlier >= modified) return
      const known = under.known.get(id)
      if (known === undefined && earlier === undefined && record.affected.length === 0) return
      seen.set(id, modified)
      if (known?.digest === record.digest && earlier === undefined) return
      changed.add(id)
      entries += record.affected.length
      batch.set(id, record)
    }
    await readable(source, async () => {
      for await (const file of source.files()) {
        signal?.throwIfAborted()
        const bytes = await file.read()
        turn += bytes.length
        if (turn > TURN_BYTES) {
          turn = 0
          await othersTurn()
        }
        const digest = createHash('sha256').update(scope).update(bytes).digest('hex').slice(0, 32)
        // Files are named by the id: what has not changed since the last time need not be read.
        const id = file.name.replace(/^.*\//, '').replace(/\.json$/, '')
        const known = seen.has(id) ? undefined : under.known.get(id)
        if (known?.source === digest) {
          seen.set(id, known.modified)
          continue
        }
        try {
          consider({
            ...readRecord(parseJson(bytes.toString('utf8')), { compare: deps.compare, wanted }),
            source: digest,
          })
        } catch (error) {
          skipped.push({ name: file.name, reason: (error as Error).message.slice(0, 200) })
          if (known) seen.set(id, known.modified)
        }
        if (batch.size >= BATCH_ADVISORIES || entries >= BATCH_ENTRIES) await flush()
      }
      await flush()
    })
    return { seen, skipped, changed: changed.size }
  }

  async function fetchFeed(
    url: string,
    ecosystem: string,
    force: boolean,
    signal: AbortSignal | undefined,
  ): Promise<ImportResult> {
    const feed = `osv:${ecosystem}`
    const before = await advisories.feed(feed)
    const age = before?.checkedAt ? clock.now().getTime() - before.checkedAt.getTime() : Infinity
    if (!force && before?.error === null && age < MAX_AGE_MS)
      return told(feed, 'fresh', before, `checked less than 24 hours ago`)
    const path = join(deps.workDirectory, `osv-${randomBytes(6).toString('hex')}.zip`)
    try {
      await deps.download(`${url.replace(/\/+$/, '')}/${encodeURIComponent(ecosystem)}/all.zip`, path, signal)
      return await bring(feed, zipSource(path), signal)
    } catch (error) {
      signal?.throwIfAborted()
      const message = error instanceof Problem ? error.detail : 'the advisories could not be fetched'
      await advisories.noteChecked(feed, message)
      return told(feed, 'failed', before, message)
    } finally {
      await rm(path, { force: true })
    }
  }

  return {
    importZip: (path, feed) => bring(feed ?? `file:${zipSource(path).name}`, zipSource(path)),
    importDirectory: (path, feed, signal) =>
      bring(feed ?? `directory:${directorySource(path).name}`, directorySource(path), signal),
    async refresh({ url, ecosystems = BUCKETS, force = false, signal }) {
      const results: ImportResult[] = []
      for (const ecosystem of ecosystems) results.push(await fetchFeed(url, ecosystem, force, signal))
      return results
    },
  }
}

function wantedBy(distros: readonly string[] | undefined): (ecosystem: string) => boolean {
  if (!distros) return () => true
  const covering = distros.flatMap((distro) => ecosystemOf(distro) ?? [])
  const languages = new Set(['npm', 'PyPI', 'Maven'])
  return (ecosystem) => languages.has(orderName(ecosystem) ?? '') || covering.some((one) => one.covers(ecosystem))
}

/** A source that cannot be read to its end has failed as a whole. */
async function readable<T>(source: AdvisorySource, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof Problem) throw cause
    throw new Problem(
      'upstream_error',
      `${source.name} could not be imported: ${(cause as Error).message}`,
      {},
      { cause },
    )
  }
}

/** Refuses a source that is empty, lost half of its advisories or has many unreadable files: it must not empty ours. */
function refuseLoss(
  source: AdvisorySource,
  read: { seen: ReadonlyMap<string, string>; skipped: ImportResult['skipped'] },
  before: FeedState | null,
): void {
  const refuse = (what: string) => {
    throw new Problem('upstream_error', `${source.name} was not taken over: ${what}`)
  }
  if (read.seen.size === 0) refuse('it holds no advisories for the distributions offered')
  if (read.skipped.length > 10 && read.skipped.length > read.seen.size / 100) {
    refuse(
      `${read.skipped.length} of its files hold no readable advisory, the first ${read.skipped[0]!.name}: ${read.skipped[0]!.reason}`,
    )
  }
  if (before && read.seen.size < before.advisories / 2)
    refuse(`it holds ${read.seen.size} advisories, before it were ${before.advisories}`)
}

function told(feed: string, outcome: ImportResult['outcome'], before: FeedState | null, message: string): ImportResult {
  return { feed, outcome, advisories: before?.advisories ?? 0, changed: 0, removed: 0, skipped: [], message }
}
