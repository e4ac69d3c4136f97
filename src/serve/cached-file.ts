// A published file kept between requests, and its current validators. Opens nothing.
import type { BigIntStats } from 'node:fs'
import { validatorsOf } from './files/conditions.ts'
import { fileHeaders, type FileKind } from './files/file-headers.ts'
import { entityTag, type Representation } from './files/representation.ts'

/** Validators change with time and with flips, so the facts they are computed from are kept beside them. */
export interface CachedFile {
  readonly stats: BigIntStats
  /** the link that a publish replaces; null where the link does not date the file */
  readonly flipLink: string | null
  /** when the link was last replaced, ms since 1970; 0 without a link */
  flippedAt: number
  representation: Representation
}

/** @param flip the link on the way to the file, and when it was replaced: see `PublishedTree` */
export function createCachedFile(
  kind: FileKind,
  stats: BigIntStats,
  flip: { link: string | null; at: number },
  source: Representation['source'],
  observedMs: number,
): CachedFile {
  const representation = { kind, sizeBytes: Number(stats.size), source, ...dated(stats, kind, flip.at, observedMs) }
  return { stats, flipLink: flip.link, flippedAt: flip.at, representation }
}

/**
 * Returns the representation with current validators: the second of the last change may have ended, or the link may
 * have been replaced by another one to the same file.
 */
export function representationNow(cached: CachedFile, flippedAt: number, observedMs: number): Representation {
  if (cached.representation.validators.settled && cached.flippedAt === flippedAt) return cached.representation
  cached.flippedAt = flippedAt
  const { kind } = cached.representation
  cached.representation = { ...cached.representation, ...dated(cached.stats, kind, flippedAt, observedMs) }
  return cached.representation
}

/**
 * An index has the date at which its link was replaced, because a flip can bring in a file that is older than the previous
 * one. A package keeps its own date, so that an interrupted download can resume across a flip.
 */
function dated(stats: BigIntStats, kind: FileKind, flippedAt: number, observedMs: number) {
  const ownMs = kind.immutable ? Number(stats.mtimeMs) : Math.max(Number(stats.mtimeMs), Number(stats.ctimeMs))
  const validators = validatorsOf(entityTag(stats), Math.max(ownMs, flippedAt), observedMs)
  return { validators, headers: fileHeaders(kind, Number(stats.size), validators, observedMs) }
}
