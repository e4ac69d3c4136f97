// The tables as TypeScript types; `migrations/` creates them. JSON columns are written as text and read as objects.
import type { ColumnType, Generated, Selectable } from 'kysely'
import type { CoveredFinding, ReviewReason } from '../domain/acceptance.ts'
import type { DriftArea, DriftFault } from '../domain/drift.ts'
import type { NotCarried } from '../domain/not-carried.ts'
import type { CveStatus, DecisionAction, HeldReason, PackageStatus } from '../domain/status.ts'
import type { Capability, Distribution, FormatId, PackageFacts, Requirement } from '../domain/package.ts'
import type { VersionRange } from '../domain/advisory.ts'
import type { Finding, PolicyAction, Severity } from '../domain/finding.ts'
import type { Json as JsonObject } from '../domain/json.ts'
import type { InstallabilityResult } from '../domain/installability.ts'
import type { MirrorSelection } from '../domain/mirror-selection.ts'
import type { Role } from '../domain/roles.ts'
import type { Scopes } from '../domain/scopes.ts'
import type { TaskState } from '../domain/tasks.ts'
import type { StatusEvent } from '../domain/transitions.ts'

/** jsonb: inserted as JSON text (both drivers disagree on arrays otherwise), selected as a value. */
type Json<T> = ColumnType<T, string, string>
type JsonOrNull<T> = ColumnType<T | null, string | null | undefined, string | null>
type OrNull<T> = ColumnType<T | null, T | null | undefined, T | null>

export interface UsersTable {
  id: Generated<number>
  username: string
  /** lower case of `username`; unique */
  username_key: string
  password_hash: string | null
  role: Role
  full_name: Generated<string>
  email: Generated<string>
  active: Generated<boolean>
  auth_source: Generated<'local' | 'ldap' | 'oidc'>
  mfa_enabled: Generated<boolean>
  /** sealed with the settings key; without `mfa_enabled` a set-up that was not confirmed */
  mfa_secret: string | null
  /** 30-second step of the last accepted code: only later codes are accepted */
  mfa_last_step: OrNull<number>
  /** wrong codes of the hour that began at `mfa_failures_since` */
  mfa_failures: Generated<number>
  mfa_failures_since: OrNull<Date>
  /** issuer and subject of an identity provider; unique */
  external_id: OrNull<string>
  /** when the directory last had the account */
  directory_checked_at: OrNull<Date>
  /** since when it does not have it: its credentials do not count */
  directory_gone_at: OrNull<Date>
  created_at: Date
  last_login: OrNull<Date>
}

/** One login. A JWT is valid only while its `jti` has a row here. */
export interface SessionsTable {
  jti: string
  user_id: number
  /** time of the login, kept across refreshes */
  started_at: Date
  expires_at: Date
}

/** A login whose password was right and whose code is awaited. */
export interface MfaChallengesTable {
  id: string
  user_id: number
  tries: Generated<number>
  expires_at: Date
}

export interface RecoveryCodesTable {
  user_id: number
  code_hash: string
}

export interface ApiTokensTable {
  id: string
  name: string
  role: Role
  token_hash: string
  token_hint: string
  created_by: string
  created_by_id: number | null
  created_at: Date
  last_used: Date | null
  expires_at: Date | null
  revoked_at: Date | null
  scopes: JsonOrNull<Scopes>
  /** name of the trusted publisher that a job's token was made for; such a token has no owner */
  publisher: OrNull<string>
  /** id of the token that created it; revoked together with that */
  parent_id: OrNull<string>
}

/** A login that waits for its person to come back from the identity provider. */
export interface OidcLoginsTable {
  /** SHA-256 of the state and the PKCE challenge */
  state_hash: string
  nonce: string
  redirect_uri: string
  expires_at: Date
}

/** ID tokens that were exchanged, until they expire: none works twice. */
export interface UsedIdTokensTable {
  token_hash: string
  expires_at: Date
}

export interface PasswordResetsTable {
  user_id: number
  token_hash: string
  expires_at: Date
}

export interface DistributionsTable {
  codename: string
  format: FormatId
  /** raised by every change of what is offered */
  revision: Generated<number>
  /** what clients see */
  published_revision: Generated<number>
  /** directory of the live generation, below `.generations/<format>/<codename>/` */
  generation: string | null
  /** seconds since 1970; strictly increases, clients ignore an older one */
  release_date: Generated<number>
  published_at: Date | null
  /** which packages were offered before this revision is no longer known */
  history_floor: Generated<number>
  /** finished background indexes (deb Contents, rpm updateinfo) */
  background_indexes: ColumnType<BackgroundIndexRow[], string | undefined, string>
  /** who removes files from the tree at present, and since when; null when nobody does */
  cleaning_token: string | null
  cleaning_since: Date | null
  /** raised by each of these claims: a publish that began before one is not made visible */
  cleanings: Generated<number>
  initialized_at: Date | null
  /** as it was declared last */
  definition: Json<Distribution>
  published_count: Generated<number>
  pending_count: Generated<number>
  quarantined_count: Generated<number>
  rejected_count: Generated<number>
  size_bytes: Generated<number>
}

export interface BackgroundIndexRow {
  path: string
  sizeBytes: number
  sha256: string
  /** of the uncompressed text */
  plain: { sizeBytes: number; sha256: string }
  /** of the distribution when it was made */
  revision: number
  /** generation of the advisories it was made from, where it was made from any */
  advisoryGeneration?: number
}

/** A stored file: immutable bytes in the pool, and what the file states about itself. */
export interface BlobsTable extends FactColumns {
  sha256: string
  format: FormatId
  filename: string
  size_bytes: number
  sha512: string
  sha1: string
  md5: string
  /** the facts without their file list */
  facts: Json<PackageFacts>
  /** gzip of the file list, one path a line */
  files: Uint8Array
  created_at: Date
  /** when its bytes were last compared with its digest */
  verified_at: Generated<Date>
  /** the last removal of its bytes from one or both of their places (`files/placement.ts`) */
  removal_token: ColumnType<string | null, string | null | undefined, string | null>
  removal_began_at: ColumnType<Date | null, Date | null | undefined, Date | null>
  removal_ended_at: ColumnType<Date | null, Date | null | undefined, Date | null>
}

/** The facts of a file that lists show and queries filter by. */
export interface FactColumns {
  installed_size_kb: OrNull<number>
  section: OrNull<string>
  description: OrNull<string>
  maintainer: OrNull<string>
  license: OrNull<string>
  url: OrNull<string>
  source_package: OrNull<string>
  source_version: OrNull<string>
  /** its strong requirements */
  dependencies: ColumnType<{ name: string; version_constraint: string }[], string | undefined, string>
}

/**
 * Records. Each is one judged file: its place, and what the gate and later scans found about it there. Unique by place
 * (today a distribution), name, version and architecture.
 */
export interface PackagesTable {
  id: Generated<number>
  distribution: string
  format: FormatId
  name: string
  version: string
  arch: string
  sha256: string
  received_sha256: string
  status: PackageStatus
  cve_status: CveStatus | null
  held_reason: HeldReason | null
  imported_at: Date
  imported_by: string
  import_method: 'upload' | 'import' | 'mirror' | 'promotion' | 'migration'
  import_group: string | null
  source_id: number | null
  promoted_from: string | null
  pipeline: Json<Record<string, string>>
  validation_steps: Json<unknown[]>
  coverage: Json<Record<string, unknown>>
  deps_missing: Json<string[]>
  tags: Json<string[]>
  cve_summary: JsonOrNull<Record<string, unknown>>
  cve_results: JsonOrNull<unknown[]>
  last_scan: Date | null
  /** severities of its findings, one bit each (`domain/risk`) */
  severities: Generated<number>
  risk: Generated<number>
  /** null when it is not under review or the worst undecided finding has no deadline; here for the order of the queue */
  review_due_at: Date | null
  /** raised by every change of the record, its review or its decisions */
  changes: Generated<number>
  /** `changes` at the time the manifest on disk was read from the rows; 0 when there is none */
  manifest_changes: Generated<number>
}

/** What people have to do with a record, or did. Records that nobody had to look at have no row. */
export interface ReviewsTable {
  package_id: number
  /** what requested the review: the import method, or the mechanism that held it later; null when it is not under review */
  review_origin: OrNull<string>
  review_since: OrNull<Date>
  overdue_noted_at: OrNull<Date>
  /** why a decided package is under review again */
  review_reasons: JsonOrNull<ReviewReason[]>
  quarantined_at: OrNull<Date>
  quarantined_by: OrNull<string>
}

/** The view of a record as it is read: with the facts of its stored file, its review, and whether it is offered. */
export type RecordsView = PackagesTable &
  Pick<BlobsTable, 'filename' | 'size_bytes'> &
  FactColumns &
  Omit<ReviewsTable, 'package_id'> & {
    /** whether clients are offered it */
    served: boolean
    /** the revision that offered it; null while it is not offered */
    offered_from: number | null
  }

/** Decisions of people. Rows are only added, and closed by the columns from `active` on. */
export interface DecisionsTable {
  id: Generated<number>
  /** null once the record was deleted */
  package_id: number | null
  package: string
  version: string
  arch: string
  distribution: string
  format: FormatId
  sha256: string
  decision: 'approve' | 'reject' | null
  action: DecisionAction
  /** the record's, afterwards */
  status: PackageStatus
  previous_status: PackageStatus
  justification: string
  decided_by: string
  decided_at: Date
  expires_in_days: number | null
  expires_at: Date | null
  target_version: string | null
  covers: Json<CoveredFinding[]>
  policy_snapshot: Json<Record<string, unknown>>
  active: boolean
  assigned_to: string | null
  assigned_at: Date | null
  resolved_at: Date | null
  resolved_by: string | null
  resolution_note: string | null
}

/** One row for each finding of a record, for pages and counts; a copy of `packages.cve_results`. */
export interface FindingsTable {
  package_id: number
  cve: string
  distribution: string
  severity: Severity
  fix_state: Finding['fix_state']
  action: PolicyAction
  in_kev: boolean
  epss: number | null
  first_seen: Date
  risk: number
  finding: Json<Finding>
}

/** What else people call a finding, in upper case; a copy of the aliases in `findings.finding`. */
export interface FindingNamesTable {
  package_id: number
  cve: string
  name: string
}

/** Number of findings by the filters of their pages. */
export interface FindingCountsTable {
  distribution: string
  status: PackageStatus
  severity: Severity
  fix_state: Finding['fix_state']
  n: number
}

/** Number of packages by the filters of their pages. */
export interface PackageCountsTable {
  distribution: string
  status: PackageStatus
  /** empty for none */
  cve_status: string
  scanned: boolean
  severities: number
  n: number
}

/** Counts that the dashboard shows; triggers keep them. */
export interface DashboardCountsTable {
  distribution: string
  /** `deps_missing`, `decisions`, or `active <action>` of decisions in force */
  counted: string
  n: number
}

/** What happened on a day (UTC), counted from the audit chain. */
export interface ActivityDaysTable {
  day: string
  imports: number
  failures: number
  decisions: number
  cve_scans: number
}

/** What the repository held at the end of a day (UTC). */
export interface PoolDaysTable {
  day: string
  packages: number
  bytes: number
}

/** One row: the entry of the audit chain that was counted last. */
export interface ActivityCursorTable {
  id: number
  seq: number
}

/** An access log that was read, up to `position`; known by its beginning, whatever its name. */
export interface DownloadLogsTable {
  id: Generated<number>
  /** SHA-256 of its first line */
  first_line: string
  /** whole lines at its beginning that were digested, in bytes, and their SHA-256 */
  head_bytes: number
  head_digest: string
  /** the name it was seen under last */
  path: string
  kind: DownloadLogKind
  /** bytes that were read, unpacked; always the end of a line */
  position: Generated<number>
  lines: Generated<number>
  unreadable: Generated<number>
  /** answered requests for packages that no distribution is known to have offered */
  unknown: Generated<number>
  seen_at: Date
}

/** `listeners`: written by our own; `nginx`: by nginx in front of them. */
export type DownloadLogKind = 'listeners' | 'nginx'

/** Which of them count. */
export type CountedLogs = DownloadLogKind | 'both'

/** Which logs count, from a time on. */
export interface DownloadLogChoicesTable {
  /** seconds since 1970 */
  since: number
  kind: CountedLogs
}

export interface DownloadClientsTable {
  id: Generated<number>
  address: string
  last_day: number
}

export interface DownloadAgentsTable {
  id: Generated<number>
  agent: string
  client_type: string
  last_day: number
}

/** A name that was downloaded. */
export interface DownloadPackagesTable {
  id: Generated<number>
  format: FormatId
  name: string
  last_day: number
}

/** A file of a distribution that was downloaded; stays when its record is deleted. */
export interface DownloadFilesTable {
  id: Generated<number>
  package_id: number
  distribution: string
  sha256: string
  filename: string
  version: string
  arch: string
  size_bytes: number
  last_day: number
}

/** What a client with one user agent downloaded of a file on a day. */
export interface DownloadsTable {
  package_id: number
  client_id: number
  file_id: number
  /** UTC, days since 1970 */
  day: number
  agent_id: number
  /** 0 for the rest of a download that began the day before */
  downloads: number
  bytes: number
}

interface DownloadCounts {
  /** UTC, days since 1970 */
  day: number
  downloads: number
  bytes: number
  /** clients (of `packages`: names) whose last download was on this day */
  latest: number
}

/** `all`, `packages`, `format <id>`, `client <type>` */
export interface DownloadDaysTable extends DownloadCounts {
  counted: string
}

export interface DownloadPackageDaysTable extends DownloadCounts {
  package_id: number
}

export interface DownloadFileDaysTable extends DownloadCounts {
  file_id: number
}

/** Downloads ever counted. */
export interface DownloadTotalsTable {
  format: FormatId
  downloads: number
}

/** The last ones, as they were logged. */
export interface RecentDownloadsTable {
  id: Generated<number>
  at: Date
  file_id: number
  address: string
  agent: string
  client_type: string
  path: string
  status: number
  bytes: number
}

/** The rendered index entry of an offer, one row for each stream of its format. It ends and is deleted with it, by triggers. */
export interface OfferEntriesTable {
  package_id: number
  stream: string
  bytes: Uint8Array
  /** as in its offer */
  until_revision: Generated<number | null>
}

/** The same of a package whose entries are long: none of them is in `offer_entries` then. */
export interface OfferEntryPiecesTable extends OfferEntriesTable {
  /** from 0 */
  piece: number
}

/** What a package provides, its own name included; for the dependency check. */
export interface CapabilitiesTable {
  package_id: number
  distribution: string
  name: string
  version: string | null
  /** of the package */
  arch: string
  multi_arch: string | null
}

/** A name that a package needs something by. */
export interface DependentsTable {
  package_id: number
  distribution: string
  name: string
}

/**
 * A file was offered to clients from one revision of a distribution until another. So what is offered, or was at an earlier
 * revision, is a query. Rows are deleted when no kept publication names them.
 */
export interface OffersTable {
  distribution: string
  /** may be of a record that was deleted since */
  package_id: number
  /** the revision that first offered it: its place in the index */
  from_revision: number
  /** the first revision without it; null while it is offered */
  until_revision: number | null
  sha256: string
  filename: string
  name: string
  version: string
  arch: string
  began_by: OfferCause
  ended_by: OfferCause | null
  ended_at: Date | null
  /** when its file may leave the tree; null while it must not, and when it has */
  unlink_at: Date | null
  /**
   * whether the bytes stay for the publications that named it; not for a record that was quarantined or rejected since, or
   * that never was in a publication
   */
  keeps_bytes: Generated<boolean>
}

/** How a record came in, or what happened to it since. */
export type OfferCause = PackagesTable['import_method'] | StatusEvent | 'restore'

/** What clients saw, and from when. Rows are only added, and deleted when they are older than the history that is kept. */
export interface PublicationsTable {
  distribution: string
  generation: string
  revision: number
  /** of its Release, in seconds since 1970 */
  release_date: number
  published_at: Date
  /** why packages entered and left since the publication before; without any, why it was published nevertheless */
  causes: string[]
}

/** Files of deleted records that still have to be removed, and stored files that still have to be moved. */
export interface PendingDeletionsTable {
  id: Generated<number>
  kind: 'manifest' | 'file'
  /** manifest: path below `manifests/`; file: sha256 */
  key: string
  /** failed so far */
  attempts: Generated<number>
  /** not tried before */
  due_at: Generated<Date>
}

/** A generation that clients may still be reading: it was live until then. */
export interface SupersededGenerationsTable {
  distribution: string
  generation: string
  superseded_at: Date
}

/** One row for each (format, name): what `/artifacts/` lists. */
export interface ArtifactsTable {
  format: FormatId
  name: string
  latest_id: number
  /** lower-case text that `search` looks in */
  search: string
  latest_imported_at: Date
  distributions: string[]
  statuses: string[]
  archs: string[]
}

export interface AuditTable {
  id: Generated<number>
  at: Date
  action: string
  result: 'SUCCESS' | 'FAILURE' | 'WARNING'
  username: string | null
  package: string | null
  version: string | null
  distribution: string | null
  arch: string | null
  detail: string | null
  outcome: string | null
  ip: string | null
  request_id: string | null
  extra: Json<Record<string, unknown>>
  /** place in the hash chain, given when it is chained */
  seq: number | null
  prev_hash: string | null
  hash: string | null
  /** proves who wrote it; null for entries older than the key */
  mac: string | null
  /** UTC day whose file it belongs to: never earlier than that of the entry before it in the chain */
  day: string | null
  /** written to the day's file */
  filed: Generated<boolean>
}

/** One row: the head of the audit chain; its lock is the right to append. */
export interface AuditChainTable {
  id: number
  seq: number
  hash: string
  day: string
  /** entries at the beginning of the chain that are older than the key and have no mac */
  unkeyed: Generated<number>
  /** SHA-256 of the last line in the checkpoint files */
  checkpoint: Generated<string | null>
  /** the last entry that retention removed, or is about to remove; 0 for none */
  removed_seq: Generated<number>
  /** its day: entries of later days are kept */
  removed_day: Generated<string | null>
  /** the last entry of an earlier database, which has no row here; null when an older build began the chain */
  began_seq: Generated<number | null>
}

/** One row: the last entry of the chain that was delivered. */
export interface NotifyCursorTable {
  id: number
  seq: number
  tries: Generated<number>
  retry_at: Date | null
}

/** A right that one process holds for some seconds. */
export interface LeasesTable {
  name: string
  holder: string
  expires_at: Date
}

/** A running process of the service. Files of processes without a row are removed. */
export interface InstancesTable {
  id: string
  host: string
  pid: number
  heartbeat_at: Date
}

/** One row: the generation of advisories that readers see, and the import that builds the next. */
export interface AdvisoryStateTable {
  id: number
  generation: number
  /** of the generation in force: entries and newest change by ecosystem */
  ecosystems: Json<Record<string, { entries: number; newest: string | null }>>
  /** of the generation in force: the packages with the most advisories, by ecosystem */
  vulnerable: ColumnType<Record<string, { package: string; advisories: number }[]>, string | undefined, string>
  /** changes up to this generation may have been deleted */
  changes_floor: number
  /** token of the import under way */
  writer: string | null
  building: number | null
  heartbeat_at: Date | null
  /** packages were matched against the changes up to this generation */
  rematched: Generated<number>
  /** the same, by a build that stores the names of findings */
  rematched_names: Generated<number>
}

/** One due time of one scheduled job: the process that inserts the row runs it. */
export interface JobTicksTable {
  job: string
  due_at: Date
  started_at: Date
  finished_at: Date | null
  error: string | null
}

/** One source of advisories: a zip file, a directory, an ecosystem of the bucket. */
export interface AdvisoryFeedsTable {
  name: string
  digest: string | null
  advisories: Generated<number>
  generation: number | null
  imported_at: Date | null
  checked_at: Date | null
  error: string | null
}

/** Advisories. Visible in generations from `since` until before `until`. */
export interface AdvisoriesTable {
  key: Generated<number>
  feed: string
  id: string
  /** of what is stored */
  digest: string
  /** of the bytes it was read from */
  source: string
  since: number
  until: number | null
  modified: Date
  withdrawn: Date | null
  severity: Severity
  cvss: number | null
  summary: string | null
  cves: Json<string[]>
  aliases: Json<string[]>
  urls: Json<string[]>
  notes: Json<Record<string, string>>
  security: boolean
}

/** What an advisory says of one package. */
export interface AdvisoryPackagesTable {
  advisory: number
  ecosystem: string
  package: string
  ranges: Json<VersionRange[]>
  versions: Json<string[]>
  severity: Severity | null
  cvss: number | null
  wont_fix: boolean
  stream: string | null
}

/** Packages whose advisories changed with a generation; `*` for all of an ecosystem. */
export interface AdvisoryChangesTable {
  generation: number
  ecosystem: string
  package: string
}

/** How likely a vulnerability is exploited within 30 days (FIRST's EPSS), 0 to 1. */
export interface EpssTable {
  cve: string
  score: number
  percentile: number
}

/** Vulnerabilities known to be exploited (CISA's KEV, and reports by webhook). */
export interface KevTable {
  cve: string
  vendor: string | null
  product: string | null
  date_added: string | null
  due_date: string | null
  description: string | null
}

export interface ScoreFeedsTable {
  name: string
  digest: string | null
  entries: Generated<number>
  checked_at: Date | null
  imported_at: Date | null
  error: string | null
}

/** Webhook deliveries of the last day: each is accepted once. */
export interface WebhookDeliveriesTable {
  id: string
  received_at: Date
}

/** A stored file whose components were read. */
export interface ComponentReadsTable {
  sha256: string
  read_at: Date
  files_seen: number
  bytes: number
  /** files that look like components and could not be read */
  skipped: Json<{ name: string; reason: string }[]>
}

/** A component in a stored file, each name and version once. */
export interface ComponentsTable {
  sha256: string
  ecosystem: 'npm' | 'PyPI' | 'Maven'
  name: string
  version: string
  /** the name as advisories are looked up by */
  key: string
  path: string
  license: string | null
}

/** Records whose components are not matched yet; a trigger on `packages` adds the rows. */
export interface ComponentWorkTable {
  package_id: number
  sha256: string
}

/** Long work that a process runs, resumes or has ended (`domain/tasks`). */
export interface TasksTable {
  id: Generated<number>
  kind: string
  /** what it is about, e.g. a codename; empty when the kind needs none */
  key: string
  arguments: Json<JsonObject>
  state: TaskState
  /** where the work continues after a crash */
  cursor: JsonOrNull<JsonObject>
  /** who runs it: the id of a process and a token of this run, separated by a slash */
  holder: string | null
  heartbeat_at: Date | null
  /** times it was claimed and not given back by a shutdown */
  attempts: Generated<number>
  /** lines written so far; only the last ones are kept */
  line_count: Generated<number>
  created_at: Date
  created_by: string
  request_id: string | null
  /** the first claim */
  started_at: Date | null
  finished_at: Date | null
  result: JsonOrNull<JsonObject>
  error_code: string | null
  error: string | null
  /** further keys of the error body */
  error_extra: JsonOrNull<JsonObject>
}

/** Log lines of tasks. */
export interface TaskLinesTable {
  task_id: number
  /** from 1 */
  seq: number
  at: Date
  level: 'info' | 'warn'
  message: string
  data: JsonOrNull<JsonObject>
}

/** An upstream repository that packages are imported from. */
export interface SourcesTable {
  id: Generated<number>
  /** of a built-in source, in `settings.sources` */
  key: string | null
  name: string
  /** `apt`, `rpm` or `apk` */
  type: string
  url: string
  /** what `url` is the address of; null: the repository itself */
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
  /** what it offers besides packages that were read, as of the last sync */
  not_carried: JsonOrNull<NotCarried[]>
  /** of a security source: the revision of its target that was compared last */
  compared_revision: Generated<number | null>
  error: string | null
  /** fingerprints or key names, as of the last sync */
  signed_by: Generated<string[]>
  /** what the next check compares with */
  seen: JsonOrNull<Record<string, unknown>>
  created_at: Date
  created_by: string
  /** by people; a built-in source that nobody changed follows the version of the service */
  changed_at: Generated<Date | null>
}

export type SourceStatus = 'never' | 'syncing' | 'ok' | 'error'

/** A published package of which a security source has a newer version, as of the last sync. */
export interface SecurityUpdatesTable {
  source_id: number
  package_id: number
  /** of the newer version in the catalog */
  path: string
  found_at: Date
}

/** A package that a source offers; it was not fetched. Of a source that was never synced: one of a sync that has not ended. */
export interface CatalogTable {
  source_id: number
  /** relative to the repository */
  path: string
  /** digest of the record in the index: a sync writes rows that differ */
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
  /** of the request; of the package that was chosen once there is a result */
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
  /** the package name after which the next run begins; null: at the first name */
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
  /** how many packages of the source have it */
  packages: number
}

/** A package that a mirror fetched and the gate refused. */
export interface MirrorRefusalsTable {
  source_id: number
  /** codename of the distribution that was to take it */
  distribution: string
  /** as the catalog lists it */
  digest: string
  /** of the settings and reservations that it was refused under */
  rules: string
  /** why: the code of a problem, or `quarantined` */
  code: string
  detail: string | null
  refused_at: Date
}

/** The names of a source, packed; kept by triggers of `catalog_names`. */
export interface CatalogNameListsTable {
  source_id: number
  part: string
  /** lines in order: the name in lower case, or with the name as it is and how many packages have it, divided by tabs */
  names: string
}

/** A key of a source that signed packages which were taken in: clients get it with ours. */
export interface PackageKeysTable {
  fingerprint: string
  armored: string
  added_at: Date
}

/** A name or pattern of names that only uploads or one source may bring. */
export interface ReservationsTable {
  id: Generated<number>
  pattern: string
  format: string | null
  /** null: uploads */
  source_id: number | null
  created_at: Date
  created_by: string
}

/** A run of records of a source's indexes (upstream/runs.ts). */
export interface CatalogRunsTable {
  source_id: number
  digest: string
  /** of its packages, as in `catalog`; a package may be in several runs */
  fingerprints: string[]
}

/** What the last check of a distribution found. */
export interface InstallabilityTable {
  distribution: string
  /** of the distribution, when the check began */
  revision: number
  checked_at: Date
  result: Json<InstallabilityResult>
}

/** A file that differs from what was stored. */
export interface DriftTable {
  /** path below `REPOS_DIR` */
  subject: string
  area: DriftArea
  fault: DriftFault
  distribution: string | null
  sha256: string | null
  package_id: number | null
  detail: string
  since: Date
  last_seen: Date
  /** whether an alert was recorded */
  reported: Generated<boolean>
  resolved_at: OrNull<Date>
  /** what made it sound */
  resolution: OrNull<'repaired' | 'gone'>
}

/** A backup that reads the pool. */
export interface RemovalHoldsTable {
  id: string
  until: Date
}

export interface Tables {
  users: UsersTable
  sessions: SessionsTable
  mfa_challenges: MfaChallengesTable
  recovery_codes: RecoveryCodesTable
  api_tokens: ApiTokensTable
  oidc_logins: OidcLoginsTable
  used_id_tokens: UsedIdTokensTable
  password_resets: PasswordResetsTable
  distributions: DistributionsTable
  blobs: BlobsTable
  packages: PackagesTable
  reviews: ReviewsTable
  records: RecordsView
  offer_entries: OfferEntriesTable
  offer_entry_pieces: OfferEntryPiecesTable
  capabilities: CapabilitiesTable
  dependents: DependentsTable
  offers: OffersTable
  publications: PublicationsTable
  installability: InstallabilityTable
  pending_deletions: PendingDeletionsTable
  superseded_generations: SupersededGenerationsTable
  artifacts: ArtifactsTable
  decisions: DecisionsTable
  findings: FindingsTable
  finding_names: FindingNamesTable
  finding_counts: FindingCountsTable
  package_counts: PackageCountsTable
  audit: AuditTable
  audit_chain: AuditChainTable
  notify_cursor: NotifyCursorTable
  leases: LeasesTable
  instances: InstancesTable
  advisory_state: AdvisoryStateTable
  advisory_feeds: AdvisoryFeedsTable
  advisories: AdvisoriesTable
  advisory_packages: AdvisoryPackagesTable
  advisory_changes: AdvisoryChangesTable
  job_ticks: JobTicksTable
  tasks: TasksTable
  task_lines: TaskLinesTable
  epss: EpssTable
  kev: KevTable
  score_feeds: ScoreFeedsTable
  webhook_deliveries: WebhookDeliveriesTable
  component_reads: ComponentReadsTable
  components: ComponentsTable
  component_work: ComponentWorkTable
  removal_holds: RemovalHoldsTable
  drift: DriftTable
  sources: SourcesTable
  catalog: CatalogTable
  import_requests: ImportRequestsTable
  security_updates: SecurityUpdatesTable
  /** rows of a sync that is under way */
  catalog_incoming: Omit<CatalogTable, 'synced_at'>
  catalog_names: CatalogNamesTable
  catalog_name_lists: CatalogNameListsTable
  reservations: ReservationsTable
  package_keys: PackageKeysTable
  catalog_runs: CatalogRunsTable
  /** null for a run that is in `catalog_runs` */
  catalog_incoming_runs: Omit<CatalogRunsTable, 'fingerprints'> & { fingerprints: string[] | null }
  mirrors: MirrorsTable
  mirror_refusals: MirrorRefusalsTable
  dashboard_counts: DashboardCountsTable
  activity_days: ActivityDaysTable
  activity_cursor: ActivityCursorTable
  pool_days: PoolDaysTable
  download_logs: DownloadLogsTable
  download_log_choices: DownloadLogChoicesTable
  download_clients: DownloadClientsTable
  download_agents: DownloadAgentsTable
  download_packages: DownloadPackagesTable
  download_files: DownloadFilesTable
  downloads: DownloadsTable
  download_days: DownloadDaysTable
  download_package_days: DownloadPackageDaysTable
  download_file_days: DownloadFileDaysTable
  download_totals: DownloadTotalsTable
  recent_downloads: RecentDownloadsTable
}

// Rows as they are read. Others are `Selectable<…>` where they are used.
export type PackageRow = Selectable<RecordsView>
/** A stored file without the state of its removal. */
export type BlobRow = Omit<
  Selectable<BlobsTable>,
  'verified_at' | 'removal_token' | 'removal_began_at' | 'removal_ended_at'
>
export type ReservationRow = Selectable<ReservationsTable>
export type SourceRow = Selectable<SourcesTable>
export type CatalogRow = Selectable<CatalogTable>
export type MirrorRow = Selectable<MirrorsTable>
export type DecisionRow = Selectable<DecisionsTable>
export type ComponentRow = Selectable<ComponentsTable>
export type TaskRow = Selectable<TasksTable>
export type TaskLineRow = Selectable<TaskLinesTable>
