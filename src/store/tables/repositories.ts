// Repositories of libraries, and what each of their names shows.
import type { Generated } from 'kysely'
import type { FormatId } from '../../domain/package.ts'
import type { RepositoryKind, VersionNote } from '../../domain/repositories.ts'
import type { Json } from './columns.ts'

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
