// A manifest: the name and the content of its file.
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Selectable } from 'kysely'
import type { PackageFacts } from '../../domain/package.ts'
import type { BlobRow, DecisionRow, PackagesTable, ReviewsTable } from '../../store/tables.ts'

/** The record without the columns that are only meaningful in one database. */
type RecordPart = Omit<Selectable<PackagesTable>, 'id' | 'changes' | 'manifest_changes'>
type ReviewPart = Omit<Selectable<ReviewsTable>, 'package_id'>

export interface Manifest {
  schema: 2
  record: RecordPart
  /** null when the record never needed a person */
  review: ReviewPart | null
  /** null while the record is not offered */
  offer: { from_revision: number } | null
  /** all decisions about the record, oldest first */
  decisions: DecisionRow[]
  blob: Omit<BlobRow, 'facts' | 'files'> & { facts: PackageFacts; files: string }
}

/** As a query returns it: the facts are text. */
export type StoredBlob = Omit<BlobRow, 'facts'> & { facts: string }

/** Path below `manifests/`; the same for the same record. */
export function manifestKey(record: { distribution: string; name: string; version: string; arch: string }): string {
  return join(
    // The key of a repository has a slash, and manifests are on the third level.
    escaped(record.distribution),
    escaped(record.name.slice(0, 1)),
    escaped(`${record.name}_${record.version}_${record.arch}`) + '.json',
  )
}

/** Escapes only what a file name cannot contain: `encodeURIComponent` would turn each `+` into three bytes, too many for some names. */
function escaped(text: string): string {
  return text.replace(/[%/\\\0-\x1f\x7f]/g, encodeURIComponent)
}

/** The package names that a key may belong to: name, version and architecture may contain the separator. */
export function namesInKey(key: string): string[] {
  const parts = decodeURIComponent(basename(key, '.json')).split('_')
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join('_'))
}

export function manifestText(
  row: Selectable<PackagesTable>,
  stored: StoredBlob,
  rest: Pick<Manifest, 'review' | 'offer' | 'decisions'>,
): string {
  const { id: _id, changes: _changes, manifest_changes: _written, ...record } = row
  const { facts, files, ...blob } = stored
  const manifest: Omit<Manifest, 'blob'> & { blob: Omit<Manifest['blob'], 'facts'> } = {
    schema: 2,
    record,
    ...rest,
    blob: { ...blob, files: Buffer.from(files).toString('base64') },
  }
  // The facts stay text: parsing those of the largest package takes 100 ms, and writing them takes as long.
  return `${JSON.stringify(manifest).slice(0, -'}}'.length)},"facts":${facts}}}`
}

/** The content of a file before it is checked. */
type Read = { schema?: unknown; record?: { name?: unknown }; blob?: { sha256?: unknown } }

/** @returns null for a file that is missing or cannot be parsed */
export async function readManifest(path: string): Promise<Manifest | null> {
  try {
    const manifest = JSON.parse(await readFile(path, 'utf8'), revive) as Read | null
    return manifest?.schema === 2 &&
      typeof manifest.record?.name === 'string' &&
      typeof manifest.blob?.sha256 === 'string'
      ? (manifest as Manifest)
      : null
  } catch {
    return null
  }
}

const DATES = new Set([
  'imported_at',
  'last_scan',
  'quarantined_at',
  'created_at',
  'review_since',
  'review_due_at',
  'overdue_noted_at',
  'decided_at',
  'expires_at',
  'assigned_at',
  'resolved_at',
])

function revive(key: string, value: unknown): unknown {
  return DATES.has(key) && typeof value === 'string' ? new Date(value) : value
}
