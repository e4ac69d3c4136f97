// What each area implements for the scan: it names suspects, and decides about one file under the rules of the file's writers.
import type { DriftArea, DriftFault } from '../../domain/drift.ts'

export interface Suspect {
  area: DriftArea
  /** path below `REPOS_DIR` */
  subject: string
  fault: DriftFault
  detail: string
  distribution: string | null
  sha256: string | null
  package_id: number | null
}

/** `changing`: somebody is working on it, so it cannot be judged now. */
export type Verdict = { state: 'sound' } | { state: 'changing' } | { state: 'faulty'; suspect: Suspect }

export const SOUND: Verdict = { state: 'sound' }
export const CHANGING: Verdict = { state: 'changing' }

/** One batch of an inspection. */
export interface Inspected {
  suspects: Suspect[]
  /** number of checked files */
  checked: number
  /** where the next process continues */
  after: string
}

export interface Inspection {
  name: string
  /** Reads everything in batches, without locks: a change in progress may look like a fault. */
  suspects(after: string | null, signal: AbortSignal): AsyncIterable<Inspected>
}

/** Checks one file again. It never reports what an upload, a publish, a deletion or a cleaning is about to change. */
export type Confirm = (
  suspect: Pick<Suspect, 'area' | 'subject' | 'distribution' | 'sha256' | 'package_id'>,
) => Promise<Verdict>

/** A suspect without the keys that only some areas have. */
export function suspectOf(
  area: DriftArea,
  subject: string,
  fault: DriftFault,
  detail: string,
  more: Partial<Pick<Suspect, 'distribution' | 'sha256' | 'package_id'>> = {},
): Suspect {
  return { distribution: null, sha256: null, package_id: null, ...more, area, subject, fault, detail }
}

export const faulty = (suspect: Suspect): Verdict => ({ state: 'faulty', suspect })
