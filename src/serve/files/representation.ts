// One state of one file in HTTP's terms: kind, validators, headers and bytes. Opens nothing.
import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import type { Validators } from './conditions.ts'
import type { FileHeaders, FileKind } from './file-headers.ts'

/** An open file that several transfers read at the same time, each at its own position. */
export interface SharedFile {
  readonly handle: FileHandle
  /** Each transfer calls it once, at its end. */
  release(): void
}

/** The content of an answer with a file. The receiver must release a representation with a `file`. */
export interface Representation {
  kind: FileKind
  sizeBytes: number
  validators: Validators
  headers: FileHeaders
  source: { body: Buffer; file: null } | { body: null; file: SharedFile }
}

/** A strong entity tag: the inode, size and modification time identify the bytes on one file system. */
export function entityTag(stats: BigIntStats): string {
  return `"${stats.ino.toString(36)}-${stats.size.toString(36)}-${stats.mtimeNs.toString(36)}"`
}

/** Whether two `stat` results describe the same bytes: the same inode, unchanged in between. */
export function isSameState(a: BigIntStats, b: BigIntStats): boolean {
  return a.ino === b.ino && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs && a.size === b.size && a.dev === b.dev
}
