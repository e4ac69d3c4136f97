// One state of one published file: its kind, validators and bytes. Looks nothing up and opens nothing.
import type { BigIntStats } from 'node:fs'
import { validatorsOf, type Validators } from './conditions.ts'
import { fileHeaders, type FileHeaders } from './file-headers.ts'
import { kindOf, type FileKind } from './file-kinds.ts'
import type { SharedFile } from './open-files.ts'

/** What is sent for a file. Whoever got one with `file` must release that. */
export interface Representation {
  kind: FileKind
  sizeBytes: number
  validators: Validators
  headers: FileHeaders
  source: { body: Buffer; file: null } | { body: null; file: SharedFile }
}

/** A representation that is kept. Its validators age, so they are kept with the facts they were made of. */
export interface Held {
  readonly stats: BigIntStats
  /** the link a publish replaces; null where that does not date the file */
  readonly flipLink: string | null
  flippedAt: number
  shown: Representation
}

/** @param flippedAt see `PublishedTree`; 0 without a link */
export function hold(
  path: string,
  stats: BigIntStats,
  flip: { link: string | null; at: number },
  source: Representation['source'],
  observedMs: number,
): Held {
  const kind = kindOf(path)
  const shown = { kind, sizeBytes: Number(stats.size), source, ...dated(stats, kind, flip.at, observedMs) }
  return { stats, flipLink: flip.link, flippedAt: flip.at, shown }
}

/** What is sent now; the second of the last change may be over, or the link replaced by one to the same file. */
export function showNow(held: Held, flippedAt: number, observedMs: number): Representation {
  if (held.shown.validators.settled && held.flippedAt === flippedAt) return held.shown
  held.flippedAt = flippedAt
  held.shown = { ...held.shown, ...dated(held.stats, held.shown.kind, flippedAt, observedMs) }
  return held.shown
}

/**
 * What stands under an index's name changes when its link is replaced, however old the file behind it; a package keeps
 * its own date, so that an interrupted download resumes across a flip.
 */
function dated(stats: BigIntStats, kind: FileKind, flippedAt: number, observedMs: number) {
  const ownMs = kind.immutable ? Number(stats.mtimeMs) : Math.max(Number(stats.mtimeMs), Number(stats.ctimeMs))
  const etag = `"${stats.ino.toString(36)}-${stats.size.toString(36)}-${stats.mtimeNs.toString(36)}"`
  const validators = validatorsOf(etag, Math.max(ownMs, flippedAt), observedMs)
  return { validators, headers: fileHeaders(kind, Number(stats.size), validators, observedMs) }
}
