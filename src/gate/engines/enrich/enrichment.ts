// Adds EPSS scores and known-exploited flags to findings, from the database only: an upload never waits for the network.
import { randomBytes } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Exploited, Score } from '../../../domain/advisory.ts'
import { Problem } from '../../../domain/problem.ts'
import { isoTimeOrNull, type Clock } from '../../../kernel/clock.ts'
import { sha256OfFile } from '../../../kernel/digests.ts'
import {
  ageOfFeed,
  silentStatus,
  type CveResult,
  type CveScanner,
  type EngineStatus,
  type UpdateOutcome,
} from '../scanner.ts'
import { readExploited, readScores } from './read.ts'

type ScannerFinding = CveResult['findings'][number]

/** What enrichment needs from the store. */
export interface ScoreStore {
  lookUp(
    cves: readonly string[],
  ): Promise<ReadonlyMap<string, { score: number | null; percentile: number | null; exploited: boolean }>>
  feeds(): Promise<
    { name: string; digest: string | null; entries: number; checkedAt: Date | null; error: string | null }[]
  >
  noteChecked(name: 'epss' | 'kev', error: string | null): Promise<void>
  noteImported(name: 'epss' | 'kev', digest: string, entries: number): Promise<void>
  putScores(batch: readonly Score[]): Promise<void>
  putExploited(entries: readonly Exploited[], whole: boolean): Promise<string[]>
}

export interface Enrichment {
  /** whether an address of at least one of the two lists is configured */
  readonly hasLists: boolean
  /** The same findings with score, label and known-exploited flag. */
  enrich<F extends Pick<ScannerFinding, 'id' | 'epss' | 'epss_percent' | 'epss_label' | 'in_kev'>>(
    findings: readonly F[],
  ): Promise<F[]>
  /**
   * Reads each of the two lists that was last read a day ago or more.
   * @returns what happened, and the CVEs newly known to be exploited
   * @throws Problem('already_running')
   */
  refresh(options?: {
    force?: boolean
    progress?: (line: string) => void
  }): Promise<UpdateOutcome & { exploited: string[] }>
  /** Stores entries that a caller sent. @returns CVEs that were not known to be exploited */
  addExploited(entries: readonly Exploited[]): Promise<string[]>
  /** never throws */
  status(): Promise<EngineStatus>
}

const MAX_AGE_MS = 24 * 60 * 60 * 1000
const BATCH = 5000
/** The label of a score by its lower bound; the listing counts 0.1 and above as high (docs/api-decisions.md, section 9). */
const LABELS: [least: number, label: string][] = [
  [0.5, 'critical'],
  [0.1, 'high'],
  [0.01, 'medium'],
  [0, 'low'],
]

/** @param download fetches a URL into a new file, or throws */
export function createEnrichment(deps: {
  scores: ScoreStore
  clock: Clock
  epssUrl: string | null
  kevUrl: string | null
  workDirectory: string
  download(url: string, toPath: string): Promise<void>
}): Enrichment {
  const { scores, clock } = deps
  let running = false

  async function readList(
    name: 'epss' | 'kev',
    url: string | null,
    force: boolean,
    take: (path: string) => Promise<number>,
  ): Promise<'imported' | 'unchanged' | 'fresh' | 'off' | Error> {
    if (!url) return 'off'
    const before = (await scores.feeds()).find((feed) => feed.name === name)
    const age = before?.checkedAt ? clock.now().getTime() - before.checkedAt.getTime() : Infinity
    if (!force && before?.error === null && age < MAX_AGE_MS) return 'fresh'
    const path = join(deps.workDirectory, `${name}-${randomBytes(6).toString('hex')}`)
    try {
      await deps.download(url, path)
      const digest = await sha256OfFile(path)
      if (digest === before?.digest) {
        await scores.noteChecked(name, null)
        return 'unchanged'
      }
      const entries = await take(path)
      await scores.noteImported(name, digest, entries)
      return 'imported'
    } catch (error) {
      await scores.noteChecked(name, (error as Error).message)
      return error as Error
    } finally {
      await rm(path, { force: true })
    }
  }

  /** Reads the whole list before anything is stored: a truncated list must not count as read. */
  async function takeScores(path: string): Promise<number> {
    let entries = 0
    for await (const _ of readScores(path)) entries++
    let batch: Score[] = []
    for await (const score of readScores(path)) {
      batch.push(score)
      if (batch.length < BATCH) continue
      await scores.putScores(batch)
      batch = []
    }
    if (batch.length > 0) await scores.putScores(batch)
    return entries
  }

  return {
    hasLists: deps.epssUrl !== null || deps.kevUrl !== null,

    async enrich(findings) {
      if (findings.length === 0) return []
      const known = await scores.lookUp(findings.map(({ id }) => id))
      return findings.map((finding) => {
        const about = known.get(finding.id)
        if (!about) return finding
        const score = about.score ?? finding.epss
        return {
          ...finding,
          epss: score,
          epss_percent: score === null ? null : Math.round(score * 10_000) / 100,
          epss_label: score === null ? null : (LABELS.find(([least]) => score >= least)?.[1] ?? null),
          in_kev: finding.in_kev || about.exploited,
        }
      })
    },

    async refresh({ force = false, progress = () => {} } = {}) {
      if (running) throw new Problem('already_running', 'the lists are being read already')
      running = true
      try {
        let exploited: string[] = []
        const results = {
          epss: await readList('epss', deps.epssUrl, force, takeScores),
          kev: await readList('kev', deps.kevUrl, force, async (path) => {
            const entries = readExploited(JSON.parse(await readFile(path, 'utf8')))
            if (entries.length === 0) throw new Error('the list is empty')
            exploited = await scores.putExploited(entries, true)
            return entries.length
          }),
        }
        const told = Object.entries(results).map(
          ([name, result]) => `${name}: ${result instanceof Error ? result.message : result}`,
        )
        for (const line of told) progress(line)
        const all = Object.values(results)
        const status = all.includes('imported')
          ? 'updated'
          : all.some((result) => result instanceof Error) || all.every((result) => result === 'off')
            ? 'failed'
            : 'up_to_date'
        return { status, message: told.join('; '), exploited }
      } finally {
        running = false
      }
    },

    addExploited: (entries) => scores.putExploited(entries, false),

    async status() {
      try {
        const feeds = await scores.feeds()
        const read =
          feeds
            .flatMap((feed) => (feed.digest ? (feed.checkedAt ?? []) : []))
            .sort((a, b) => a.getTime() - b.getTime())[0] ?? null
        const failed = feeds.find((feed) => feed.error !== null)
        return {
          ...SILENT,
          available: feeds.some((feed) => feed.digest !== null),
          db_version: feeds.map((feed) => `${feed.name}: ${feed.entries}`).join(', ') || null,
          db_date: isoTimeOrNull(read),
          db_updated_at: isoTimeOrNull(read),
          db_files: feeds.map((feed) => feed.name),
          feeds: feeds.map(ageOfFeed),
          error: failed?.error ?? null,
        }
      } catch (error) {
        return { ...SILENT, error: (error as Error).message }
      }
    },
  }
}

const SILENT = silentStatus('epss, kev')

/** Enriches if the settings say so. If the lookup fails, the findings stay as they are. */
export function enrichingWhere(
  wanted: () => boolean,
  { enrich }: Pick<Enrichment, 'enrich'>,
  onError: (error: unknown) => void,
): Enrichment['enrich'] {
  return async (findings) => {
    if (!wanted() || findings.length === 0) return [...findings]
    return enrich(findings).catch((error: unknown) => {
      onError(error)
      return [...findings]
    })
  }
}

/** The same scanner, its findings enriched. */
export function enriched(scanner: CveScanner, enrich: Enrichment['enrich']): CveScanner {
  return {
    name: scanner.name,
    async scan(input) {
      const result = await scanner.scan(input)
      return { ...result, findings: await enrich(result.findings) }
    },
  }
}
