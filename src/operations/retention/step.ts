// The interface of a retention step: it counts what is too old, and removes it.
import type { Json } from '../../domain/json.ts'

export interface StepProgress {
  /** user name, or `scheduler` */
  by: string
  /** the last value passed to `save` in this task, also by an earlier process; null at the beginning */
  before: Json | null
  /** Stores the counts so far. Rejects when another process has taken the task over. */
  save(counts: Json): Promise<void>
  line(message: string): void
  signal: AbortSignal
}

export interface RetentionStep {
  /** its key in the result */
  name: 'audit' | 'evidence' | 'imports' | 'quarantine' | 'access_logs' | 'versions'
  /** Counts what `run` would remove now. Changes nothing. */
  plan(signal: AbortSignal): Promise<Json>
  /** Removes what is too old. Can be repeated after a crash at any line. @returns counts */
  run(progress: StepProgress): Promise<Json>
}

/** Packages that retention deletes have no request. */
export const NO_ORIGIN = { ip: null, requestId: null }
