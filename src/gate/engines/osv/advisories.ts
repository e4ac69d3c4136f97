// What matching and importing need from the store of advisories, which is passed in.
import type { Advisory } from '../../../domain/advisory.ts'
import type { AdvisoryImport, AdvisoryState, AdvisoryCandidate, FeedState } from '../../../domain/advisory-store.ts'
import { isoTime } from '../../../kernel/clock.ts'

/** When the newest advisory of these ecosystems was changed, in the time format of answers; null if there is none. */
export function newestOf(ecosystems: AdvisoryState['ecosystems'], names: readonly string[]): string | null {
  const newest = names
    .flatMap((name) => ecosystems[name]?.newest ?? [])
    .sort()
    .at(-1)
  return newest === undefined ? null : isoTime(new Date(newest))
}

export interface AdvisoryReader {
  state(): Promise<AdvisoryState>
  /** The entries of that generation about packages of these names, in a fixed order. */
  candidates(generation: number, ecosystems: readonly string[], names: readonly string[]): Promise<AdvisoryCandidate[]>
  advisories(keys: readonly number[]): Promise<ReadonlyMap<number, Advisory>>
}

export interface AdvisoryWriter {
  feed(name: string): Promise<FeedState | null>
  /** Notes that the source was asked: unchanged, or with the reason why it could not be used. */
  noteChecked(name: string, error: string | null): Promise<void>
  /** @throws Problem('already_running') while another import is under way */
  begin(feed: string): Promise<AdvisoryImport>
}
