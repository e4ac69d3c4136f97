// Repositories of libraries, and what each of their names shows.
import type { Generated } from 'kysely'
import type { FormatId } from '../../domain/package.ts'
import type { RepositoryKind, VersionNote } from '../../domain/repositories.ts'
import type { Curation, KnownFinding, Reason } from '../../domain/curation.ts'
import type { Json, JsonOrNull, OrNull } from './columns.ts'

export interface RepositoriesTable {
  /** `npm/team`; a hosted one has a row of `distributions` with this codename */
  key: string
  format: FormatId
  name: string
  kind: RepositoryKind
  description: string
  /** whether clients without a credential may read it */
  is_public: Generated<boolean>
  created_at: Date
  created_by: string
  /** of a proxy, with no slash at its end */
  upstream_url: OrNull<string>
  /** the header that the upstream asks for, sealed */
  upstream_authorization: OrNull<string>
  /** of a proxy */
  curation: JsonOrNull<Curation>
}

/** The members of a group, in the order in which a name is looked for. */
export interface RepositoryMembersTable {
  repository: string
  /** from 0 */
  position: number
  member: string
}

/** A name in a repository, as the unit of publication. Triggers raise `revision` with everything that the name shows. */
export interface ListingsTable {
  repository: string
  name: string
  revision: number
  /** the revision that clients see */
  published_revision: Generated<number>
  /** when a rule of time ends, so that the name shows something else */
  next_change_at: OrNull<Date>
}

/** npm's dist-tags. */
export interface TagsTable {
  repository: string
  name: string
  tag: string
  version: string
  changed_at: Date
  changed_by: string
}

export interface VersionNotesTable {
  repository: string
  name: string
  version: string
  note: Json<VersionNote>
}

/** A version that was deleted. Only the same bytes may take its number again. A trigger writes the rows. */
export interface SpentVersionsTable {
  repository: string
  name: string
  version: string
  arch: string
  sha256: string
  deleted_at: Date
}

/** What an upstream lists about a name. A trigger raises the revision of the name with `packed` and `findings`. */
export interface UpstreamListingsTable {
  repository: string
  name: string
  /** JSON of an `UpstreamListing`, by gzip; null when the upstream does not have the name */
  packed: OrNull<Uint8Array>
  /** of `packed`, before compression */
  digest: string
  etag: OrNull<string>
  /** each once, oldest first */
  versions: Json<string[]>
  /** by version, those that have any */
  findings: Json<Record<string, KnownFinding[]>>
  fetched_at: Date
}

/** Work that one replica does for all. */
export interface UpstreamFetchesTable {
  key: string
  holder: string
  /** later, its holder has died */
  until: Date
}

/** A version that somebody asked for and that the rules of its proxy hold. */
export interface WithheldTable {
  repository: string
  name: string
  version: string
  reasons: Json<Pick<Reason, 'rule' | 'text'>[]>
  /** when it ends by itself */
  until: OrNull<Date>
  /** how often */
  asked: number
  asked_by: string
  asked_at: Date
}

/** A name, or the names of a scope or with a prefix, which no proxy of the format asks its upstream for. */
export interface NameClaimsTable {
  format: FormatId
  pattern: string
  /** the hosted repository that they belong to */
  repository: string
  created_at: Date
  created_by: string
}
