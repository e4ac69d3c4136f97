// Everything that a repository has of one name, as its documents show it.
import { sql } from 'kysely'
import { DEFAULT_CURATION, type Curation } from '../../domain/curation.ts'
import type { Digests, PackageFacts } from '../../domain/package.ts'
import type { VersionNote } from '../../domain/repositories.ts'
import type { HeldReason, PackageStatus } from '../../domain/status.ts'
import type { VersionScheme } from '../../formats/ecosystem.ts'
import type { HeldFile, ListedFile } from '../../formats/registry-format.ts'
import type { Db } from '../../store/db.ts'
import type { UpstreamState } from './upstream-listing.ts'

/** What documents show besides files, and the revision that it has at least. */
export interface ListingState {
  revision: number
  tags: Record<string, string>
  notes: Record<string, VersionNote>
  upstream: UpstreamState | null
}

/** @returns null for a name that the repository never had, or whose newest state clients see */
export async function stateBehind(db: Db, repository: string, name: string): Promise<ListingState | null> {
  const { rows } = await sql<Omit<ListingState, 'upstream'> & UpstreamRow>`
    select l.revision, u.packed, u.findings, r.curation,
      coalesce((select jsonb_object_agg(tag, version) from tags t where t.repository = l.repository and t.name = l.name), '{}') as tags,
      coalesce((select jsonb_object_agg(version, note) from version_notes n
        where n.repository = l.repository and n.name = l.name), '{}') as notes
    from listings l join repositories r on r.key = l.repository
      left join upstream_listings u on u.repository = l.repository and u.name = l.name
    where l.repository = ${repository} and l.name = ${name} and l.published_revision < l.revision`.execute(db)
  const [row] = rows
  return row ? { revision: row.revision, tags: row.tags, notes: row.notes, upstream: upstreamOf(row) } : null
}

type UpstreamRow = {
  packed: Uint8Array | null
  findings: UpstreamState['findings'] | null
  curation: Partial<Curation> | null
}

const upstreamOf = ({ packed, findings, curation }: UpstreamRow): UpstreamState | null =>
  packed && { packed, findings: findings ?? {}, curation: { ...DEFAULT_CURATION, ...curation } }

/** What a proxy's upstream lists about a name; null in other repositories, and when it does not have the name. */
export async function upstreamStateOf(db: Db, repository: string, name: string): Promise<UpstreamState | null> {
  const row = await db
    .selectFrom('upstream_listings as u')
    .innerJoin('repositories as r', 'r.key', 'u.repository')
    .select(['u.packed', 'u.findings', 'r.curation'])
    .where('u.repository', '=', repository)
    .where('u.name', '=', name)
    .executeTakeFirst()
  return row ? upstreamOf(row) : null
}

/** What was said about the versions of a name. */
export async function notesOf(
  db: Db,
  { repository, name }: { repository: string; name: string },
): Promise<Record<string, VersionNote>> {
  const rows = await db
    .selectFrom('version_notes')
    .select(['version', 'note'])
    .where('repository', '=', repository)
    .where('name', '=', name)
    .execute()
  return Object.fromEntries(rows.map(({ version, note }): [string, VersionNote] => [version, note]))
}

interface FileRow extends Digests {
  version: string
  arch: string
  status: PackageStatus
  held_reason: HeldReason | null
  served: boolean
  filename: string
  size_bytes: number
  facts: PackageFacts
  imported_at: Date
}

export async function filesOf(
  db: Db,
  repository: string,
  name: string,
  { compare }: Pick<VersionScheme, 'compare'>,
): Promise<ListedFile[]> {
  const { rows } = await sql<FileRow>`select p.version, p.arch, p.status, p.held_reason, p.imported_at,
        exists (select from offers o where o.package_id = p.id and o.until_revision is null) as served,
        b.filename, b.size_bytes, b.facts, b.sha256, b.sha512, b.sha1, b.md5
      from packages p join blobs b on b.sha256 = p.sha256
    where p.distribution = ${repository} and p.name = ${name}`.execute(db)
  return rows.map(fileOf).sort((a, b) => compare(a.version, b.version) || (a.arch < b.arch ? -1 : 1))
}

function fileOf(row: FileRow): ListedFile {
  const { version, arch, filename, size_bytes: sizeBytes, facts, imported_at: addedAt } = row
  const { sha256, sha512, sha1, md5 } = row
  const digests = { sha256, sha512, sha1, md5 }
  return { version, arch, filename, sizeBytes, digests, facts, addedAt, held: row.served ? null : heldBecause(row) }
}

const WAITS: Partial<Record<HeldReason, string>> = {
  cve_review: 'it waits for a review of its known vulnerabilities',
  unscanned: 'it waits for a scan that can judge it',
  curation: 'the rules of this repository hold it until a review',
}

/** What clients are told. Refused files are not listed: only those who ask for one by its name hear of it. */
function heldBecause({ status, held_reason: why }: Pick<FileRow, 'status' | 'held_reason'>): HeldFile {
  if (status === 'quarantined') return { isListed: false, reason: 'it is in quarantine' }
  if (status === 'rejected') return { isListed: false, reason: 'it was rejected in a review' }
  return { isListed: true, reason: (why && WAITS[why]) ?? 'it waits for a review' }
}
