// What the service and a reading thread send each other.
import type { Distribution } from '../../domain/package.ts'
import type { PackedFacts } from '../../domain/packed-facts.ts'
import type { PackedPackage, SignatureVerdict } from '../format.ts'
import type { ReadOptions } from '../ecosystem.ts'

export type Request =
  | { kind: 'read'; format: string; path: string; options: ReadOptions }
  /** several packages one after the other: each has a reply of its own, in this order */
  | { kind: 'read-each'; format: string; paths: readonly string[]; options: ReadOptions }
  | { kind: 'members'; format: string; path: string; options: ReadOptions }
  | { kind: 'verify'; format: string; path: string; keys: readonly string[] }
  | { kind: 'entry'; format: string; pkg: PackedPackage; distribution: Distribution }
  /** a batch was consumed: one more may be sent */
  | { kind: 'more' }
  /** nobody wants the remaining members */
  | { kind: 'stop' }

export type Reply =
  /** Packed facts, and the file list as UTF-8 lines: cheaper to copy than a million strings. */
  | { kind: 'facts'; packed: PackedFacts; lines: Uint8Array }
  | { kind: 'verdict'; verdict: SignatureVerdict }
  | { kind: 'entry'; entry: Record<string, Uint8Array> }
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
