// What the service and a reading thread send each other.
import type { SignatureVerdict } from '../format.ts'
import type { ReadOptions } from '../ecosystem.ts'

export type Request =
  | { kind: 'read'; format: string; path: string; options: ReadOptions }
  | { kind: 'members'; format: string; path: string; options: ReadOptions }
  | { kind: 'verify'; format: string; path: string; keys: readonly string[] }
  /** a batch was consumed: one more may be sent */
  | { kind: 'more' }
  /** nobody wants the remaining members */
  | { kind: 'stop' }

export type Reply =
  /** Facts as JSON without their files, and these as UTF-8 lines: cheaper to copy than a million strings. */
  | { kind: 'facts'; facts: string; files: Uint8Array }
  | { kind: 'verdict'; verdict: SignatureVerdict }
  | Batch
  /** answers `stop`, or `more` after the last batch */
  | { kind: 'stopped' }
  | { kind: 'problem'; detail: string }
  | { kind: 'error'; message: string }

/** Members and stretches of their content, in order. */
export interface Batch {
  kind: 'batch'
  events: MemberEvent[]
  bytes: Uint8Array
  last: boolean
}

export type MemberEvent =
  { kind: 'member'; name: string; sizeBytes: number } | { kind: 'content'; start: number; end: number }

/** Batches that may be under way: with 256 KiB each, what one package holds in memory. */
export const WINDOW = 4
