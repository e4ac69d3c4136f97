// How far a run of a mirror has come: the cursor of its task, and the numbers that clients see.
import type { ImportOutcome } from '../../domain/import-outcome.ts'
import type { NameRange } from './select.ts'

export interface MirrorCounts {
  added: number
  pending: number
  blocked: number
  skipped: number
  error: number
}

/** Resume position of a run. It visits all names once, starts anywhere and wraps. */
export interface ResumePosition {
  /** every package up to this name is done; null: at the first name */
  after: string | null
  /** whether the run passed the last name and continued at the first one */
  wrapped: boolean
}

export interface MirrorProgress {
  /** the task that reads the catalog first; null before it was queued */
  sync_task: number | null
  /** packages to import: the missing ones, at most as many as the limit; null before they are counted */
  total: number | null
  /** packages that were refused before and are not fetched; absent until they are counted, like the next two */
  refused?: number
  /** missing packages that selected ones need, and unmet requirements; a build of November 2026 did not count them */
  dependencies?: number
  unresolved?: number
  elapsed_ms: number
  /** the name after which the run began */
  from: string | null
  place: ResumePosition
  counts: MirrorCounts
}

/** @param cursor of the task; null at its beginning */
export function progressOf(cursor: unknown): MirrorProgress {
  const begin: MirrorProgress = {
    ...{ sync_task: null, total: null, elapsed_ms: 0, from: null },
    place: { after: null, wrapped: false },
    counts: { added: 0, pending: 0, blocked: 0, skipped: 0, error: 0 },
  }
  const saved = cursor as MirrorProgress | null
  return saved ? { ...saved, counts: { ...saved.counts } } : begin
}

/** The ranges of names that are left of a run. */
export function rangesLeft({ from, place }: Pick<MirrorProgress, 'from' | 'place'>): (NameRange & ResumePosition)[] {
  if (place.wrapped) return [{ ...place, upTo: from }]
  const rest = { ...place, upTo: null }
  return from === null ? [rest] : [rest, { after: null, wrapped: true, upTo: from }]
}

export const COUNTED: Record<ImportOutcome, keyof MirrorCounts> = {
  added: 'added',
  pending_review: 'pending',
  blocked: 'blocked',
  skipped: 'skipped',
  error: 'error',
}

/** The cursor to save: the job of the run shows `done_count` and `error_count`. */
export function cursorOf(progress: MirrorProgress) {
  const { counts } = progress
  return { ...progress, done_count: doneCount(counts), error_count: counts.error }
}

export const doneCount = ({ added, pending, blocked, skipped, error }: MirrorCounts) =>
  added + pending + blocked + skipped + error
