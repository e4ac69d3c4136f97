// Sources, their catalogs, imports and mirrors.
import type { ColumnType, Generated, Selectable } from 'kysely'
import type { MirrorSelection } from '../../domain/mirror-selection.ts'
import type { NotCarried } from '../../domain/not-carried.ts'
import type { Capability, Requirement } from '../../domain/package.ts'
import type { Json, JsonOrNull, OrNull } from './columns.ts'

/** An upstream repository that packages are imported from. */
export interface SourcesTable {
  id: Generated<number>
  /** key of a built-in source in `settings.sources` */
  key: string | null
  name: string
  /** `apt`, `rpm` or `apk` */
  type: string
  url: string
  /** what `url` leads to; null: the repository itself */
  mirrors: 'metalink' | 'mirrorlist' | null
  /** apt: the suite */
  distribution: string | null
  components: string[]
  architectures: string[]
  /** codename of the distribution that takes its packages */
  target: string | null
  enabled: boolean
  security: boolean
  keys: Json<{ name: string | null; text: string }[]>
  allow_unsigned: boolean
  status: ColumnType<SourceStatus, SourceStatus | undefined, SourceStatus>
  last_sync: Date | null
  pkg_count: Generated<number>
  /** entries of its indexes that the gate would refuse, as of the last sync */
  left_out: Generated<number>
  /** content that it offers besides the packages that were read, as of the last sync */
  not_carried: JsonOrNull<NotCarried[]>
  /** of a security source: the last compared revision of its target */
  compared_revision: Generated<number | null>
  error: string | null
  /** fingerprints or key names, as of the last sync */
  signed_by: Generated<string[]>
  /** the state that the next check compares with */
  seen: JsonOrNull<Record<string, unknown>>
  created_at: Date
  created_by: string
  /** last change by a person; without one, a built-in source follows the version of the service */
  changed_at: Generated<Date | null>
}

export type SourceStatus = 'never' | 'syncing' | 'ok' | 'error'

/** A published package for which a security source has a newer version, as of the last sync. */
export interface SecurityUpdatesTable {
  source_id: number
  package_id: number
  /** path of the newer version in the catalog */
  path: string
  found_at: Date
}

/** A package that a source offers, not fetched yet. If the source was never synced, the row is from an unfinished sync. */
export interface CatalogTable {
  source_id: number
  /** relative to the repository */
  path: string
  /** digest of the record in the index: a sync only writes rows whose digest differs */
  fingerprint: string
  name: string
  version: string
  arch: string
  size_bytes: number
  digest_algorithm: 'sha256' | 'sha384' | 'sha512' | 'control-sha1'
  digest: string
  section: string | null
  description: string | null
  source_package: string | null
  source_version: string | null
  requirements: Json<Requirement[]>
  provides: Json<Capability[]>
  synced_at: Date
}

/** One package of a bulk import. */
export interface ImportRequestsTable {
  task_id: number
  /** from 0, in the order of the request */
  n: number
  source_id: number
  package: string
  /** as requested; once there is a result, of the chosen package */
  version: string | null
  arch: string | null
  /** null until there is a result */
  status: string | null
  code: string | null
  detail: string | null
}

/** What is mirrored of a source. */
export interface MirrorsTable {
  source_id: number
  /** codename that takes the packages */
  distribution: string
  enabled: boolean
  selection: Json<MirrorSelection>
  /** the next run begins after this package name; null: at the first name */
  continue_after: OrNull<string>
  updated_at: Date
  updated_by: string
}

/** The names in the catalog of a source. */
export interface CatalogNamesTable {
  source_id: number
  /** in lower case */
  folded: string
  name: string
  /** number of packages of the source with this name */
  packages: number
}

/** A package that a mirror fetched and the gate refused. */
export interface MirrorRefusalsTable {
  source_id: number
  /** codename of the distribution that should have taken it */
  distribution: string
  /** as the catalog lists it */
  digest: string
  /** digest of the settings and reservations at the time of the refusal */
  rules: string
  /** why: the code of a problem, or `quarantined` */
  code: string
  detail: string | null
  refused_at: Date
}

/** The names of a source, packed; triggers on `catalog_names` maintain the rows. */
export interface CatalogNameListsTable {
  source_id: number
  part: string
  /** sorted lines, fields separated by tabs: the name in lower case, optionally the original name and its number of packages */
  names: string
}

/** A run of records of a source's indexes (upstream/runs.ts). */
export interface CatalogRunsTable {
  source_id: number
  digest: string
  /** fingerprints of its packages, as in `catalog`; a package may be in several runs */
  fingerprints: string[]
}

export type SourceRow = Selectable<SourcesTable>

export type CatalogRow = Selectable<CatalogTable>

export type MirrorRow = Selectable<MirrorsTable>
