// Reads the packages of a staged index, in a reader, and sends them as lines of JSON, which nobody has to parse again.
import {
  refused,
  type CatalogEntry,
  type CatalogItem,
  type RepositoryIndex,
  type StagedFile,
  type UnreadableEntry,
} from '../../formats/catalog.ts'
import { isProblem } from '../../domain/problem.ts'
import type { JobSession } from '../../formats/readers/session.ts'
import { checkPath, isElsewhere, urlElsewhere } from '../paths.ts'
import { catalogOf } from './catalog-of.ts'
import { cutRuns, type RecordRun } from './runs.ts'

export interface PackagesArgument {
  type: string
  file: StagedFile
  index: RepositoryIndex
  /** digests of runs whose packages the caller already has */
  known: readonly string[]
  /** base of paths that lead to packages outside the repository; null where nothing may be read there */
  base: string | null
}

/** A run of successive records in an index. Where it ends depends only on its records. */
export interface CatalogRun {
  /** digest of its records and of the revision of the readers */
  digest: string
  /** number of its records */
  size: number
  /** fingerprints of its packages, in order; null for a known run, which was not read */
  fingerprints: string[] | null
}

/** What one line of `CatalogBatch.lines` says. */
export type CatalogLine = CatalogEntry & { /** digest of the record */ fingerprint: string }

export interface CatalogBatch {
  /** runs that are sent completely, with this batch or earlier ones */
  runs: CatalogRun[]
  /** packages of unknown runs: JSON of CatalogLines, separated by commas */
  lines: Uint8Array
  /** Entries that are left out because this service would refuse the packages. */
  unreadable: UnreadableEntry[]
}

export function isCatalogBatch(value: unknown): value is CatalogBatch {
  const { runs, lines, unreadable } = (value ?? {}) as Partial<CatalogBatch>
  if (!Array.isArray(runs) || !(lines instanceof Uint8Array) || !Array.isArray(unreadable)) return false
  return runs.every(isRun) && unreadable.every(isUnreadable)
}

function isRun(run: unknown): boolean {
  const { digest, size, fingerprints } = (run ?? {}) as Partial<CatalogRun>
  const isList = Array.isArray(fingerprints) && fingerprints.every((one: unknown) => typeof one === 'string')
  return typeof digest === 'string' && Number.isSafeInteger(size) && (fingerprints === null || isList)
}

function isUnreadable(entry: unknown): boolean {
  const { name, unreadable } = (entry ?? {}) as Partial<UnreadableEntry>
  return typeof unreadable === 'string' && (name === null || typeof name === 'string')
}

/** Reading an index of small, broken entries costs much for its size; the indexes of distributions have none. */
const MOST_UNREADABLE = 10_000
/** Most lines for one statement of the database. */
const BATCH_LINES = 500
/** An entry of 500 bytes becomes 1 KiB of JSON. */
const BATCH_CHARACTERS = 1024 * 1024
/** Records of known runs cost little; a batch after this many shows people the progress. */
const BATCH_RECORDS = 4096

/** @throws Problem('upstream_error') when the index contains something that cannot be trusted */
export async function packages(argument: PackagesArgument, { send }: JobSession): Promise<void> {
  const { type, file, index } = argument
  const isKnown = new Set(argument.known)
  let batch: Omit<CatalogBatch, 'lines'> = { runs: [], unreadable: [] }
  let lines: string[] = []
  let [records, characters, unreadable] = [0, 0, 0]

  async function flush(): Promise<void> {
    const full: CatalogBatch = { ...batch, lines: Buffer.from(lines.join(',')) }
    batch = { runs: [], unreadable: [] }
    lines = []
    records = 0
    characters = 0
    await send(full)
  }

  async function read({ digest, records: all }: RecordRun): Promise<void> {
    const fingerprints: string[] = []
    for (const { record, fingerprint } of all) {
      const item = located(record.read(), argument)
      if ('unreadable' in item) {
        if (++unreadable > MOST_UNREADABLE)
          throw refused('malformed', `${index.name} has more than ${MOST_UNREADABLE} entries that cannot be read`)
        batch.unreadable.push(item)
        continue
      }
      fingerprints.push(fingerprint)
      const line = JSON.stringify({ ...item, fingerprint } satisfies CatalogLine)
      lines.push(line)
      characters += line.length
      if (lines.length >= BATCH_LINES || characters >= BATCH_CHARACTERS) await flush()
    }
    batch.runs.push({ digest, size: all.length, fingerprints })
  }

  for await (const run of cutRuns(catalogOf(type).records(file, index))) {
    if (isKnown.has(run.digest)) batch.runs.push({ digest: run.digest, size: run.records.length, fingerprints: null })
    else await read(run)
    records += run.records.length
    if (records >= BATCH_RECORDS) await flush()
  }
  await flush()
}

/**
 * Leaves out a package whose file cannot be fetched, in formats whose clients also fetch from elsewhere (rpm): the other packages
 * stay. A file elsewhere is verified by its digest like all packages.
 * @throws Problem('upstream_error') in other formats, whose clients do not follow the path
 */
function located(item: CatalogItem, { type, index, base }: PackagesArgument): CatalogItem {
  if ('unreadable' in item) return item
  const { name, path } = item
  const { mayBeElsewhere } = catalogOf(type)
  try {
    if (mayBeElsewhere && base !== null && isElsewhere(path)) urlElsewhere(base, path)
    else checkPath(path, `${index.name}: the entry of ${name}`)
    return item
  } catch (error) {
    if (mayBeElsewhere && isProblem(error, 'upstream_error')) return { name, unreadable: error.detail }
    throw error
  }
}
