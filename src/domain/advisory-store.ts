// The shapes of advisories in the store, shared by `store/` and `gate/engines/`.
import type { Advisory, AffectedPackage } from './advisory.ts'

export interface EcosystemState {
  /** number of (advisory, package) entries */
  entries: number
  /** time of its newest advisory, ISO 8601 */
  newest: string | null
}

export interface AdvisoryState {
  /** raised by every import that changes what readers see */
  generation: number
  ecosystems: Readonly<Record<string, EcosystemState>>
}

export interface AdvisoryCandidate {
  /** key of the advisory */
  key: number
  affected: AffectedPackage
}

export interface NewAdvisory {
  advisory: Advisory
  affected: AffectedPackage[]
  /** digest of what is stored */
  digest: string
  /** digest of the bytes it was read from */
  source: string
}

/** What an import compares to find out whether an advisory has changed. */
export interface KnownAdvisory {
  digest: string
  source: string
  /** ISO 8601, UTC */
  modified: string
}

export interface FeedState {
  name: string
  /** digest of the files it was imported from */
  digest: string | null
  advisories: number
  importedAt: Date | null
  /** when the source was last confirmed to be unchanged or was imported */
  checkedAt: Date | null
  /** why the last attempt failed; null after a successful one */
  error: string | null
}

/** One running import. Readers see none of it before `finish`. */
export interface AdvisoryImport {
  /** the feed's advisories in force, by id */
  readonly known: ReadonlyMap<string, KnownAdvisory>
  /**
   * Adds new versions of advisories; a second one with the same id replaces the first. Commits each batch.
   * @throws Problem('already_running') when another process took over
   */
  put(batch: readonly NewAdvisory[]): Promise<void>
  /**
   * Replaces the feed, in one transaction, by the advisories that were `put` and those of `known` that `keep` accepts.
   * @returns the generation now in force: unchanged when nothing was put or dropped
   */
  finish(result: {
    digest: string
    advisories: number
    keep: (id: string) => boolean
  }): Promise<{ generation: number; removed: number }>
  /** Drops what was put. Harmless when another process took over. */
  abandon(): Promise<void>
}
