// What matching and importing ask of the store of advisories: `store/` lies on this floor and comes in as a part.
import type { Advisory, AffectedPackage } from '../../domain/advisory.ts'
import { isoTime } from '../../kernel/clock.ts'

export interface EcosystemState {
  /** how many entries about packages there are */
  entries: number
  /** when the newest of its advisories was changed, ISO 8601 */
  newest: string | null
}

export interface AdvisoryState {
  /** raised whenever what readers see has changed */
  generation: number
  ecosystems: Readonly<Record<string, EcosystemState>>
}

/** When the newest advisory of these ecosystems was changed, as every answer writes time; null where there is none. */
export function newestOf(ecosystems: AdvisoryState['ecosystems'], names: readonly string[]): string | null {
  const newest = names
    .flatMap((name) => ecosystems[name]?.newest ?? [])
    .sort()
    .at(-1)
  return newest === undefined ? null : isoTime(new Date(newest))
}

export interface Candidate {
  /** of the advisory */
  key: number
  affected: AffectedPackage
}

export interface AdvisoryReader {
  state(): Promise<AdvisoryState>
  /** What that generation says of packages of these names, in a fixed order. */
  candidates(generation: number, ecosystems: readonly string[], names: readonly string[]): Promise<Candidate[]>
  advisories(keys: readonly number[]): Promise<ReadonlyMap<number, Advisory>>
}

export interface NewAdvisory {
  advisory: Advisory
  affected: AffectedPackage[]
  /** of what is stored */
  digest: string
  /** of the bytes it was read from */
  source: string
}

/** What tells whether an advisory has changed. */
export interface KnownAdvisory {
  digest: string
  source: string
  /** ISO 8601, UTC */
  modified: string
}

export interface FeedState {
  name: string
  /** of the files it was imported from */
  digest: string | null
  advisories: number
  importedAt: Date | null
  /** when it was last found to be as the source has it */
  checkedAt: Date | null
  /** why the last attempt failed; null after a good one */
  error: string | null
}

/** One import under way: readers see nothing of it before `finish`. */
export interface AdvisoryImport {
  /** the feed's advisories in force, by id */
  readonly known: ReadonlyMap<string, KnownAdvisory>
  /** @throws Problem('already_running') when another process took over */
  put(batch: readonly NewAdvisory[]): Promise<void>
  /**
   * Makes the feed consist of the advisories `put` and of those of `known` that `keep` accepts, at once.
   * @returns the generation now in force
   */
  finish(result: {
    digest: string
    advisories: number
    keep: (id: string) => boolean
  }): Promise<{ generation: number; removed: number }>
  /** Forgets all that was put. */
  abandon(): Promise<void>
}

export interface AdvisoryWriter {
  feed(name: string): Promise<FeedState | null>
  /** Notes that the source was asked: unchanged, or with the reason why it could not be used. */
  noteChecked(name: string, error: string | null): Promise<void>
  /** @throws Problem('already_running') while another import is under way */
  begin(feed: string): Promise<AdvisoryImport>
}
