// The tables as TypeScript types, by the room that owns them; `migrations/` creates them. JSON columns are written as text and read
// as objects.
import type {
  AccessRevisionTable,
  ApiTokensTable,
  MachineEnrolmentsTable,
  MachinesTable,
  MfaChallengesTable,
  OidcLoginsTable,
  DeviceSignInsTable,
  PasswordResetsTable,
  ReadersTable,
  RecoveryCodesTable,
  SessionsTable,
  UsedIdTokensTable,
  UserGroupsTable,
  UsersTable,
} from './tables/accounts.ts'
import type {
  AdvisoriesTable,
  AdvisoryChangesTable,
  AdvisoryFeedsTable,
  AdvisoryPackagesTable,
  AdvisoryStateTable,
  EpssTable,
  KevTable,
  ScoreFeedsTable,
} from './tables/advisories.ts'
import type { AuditChainTable, AuditTable, NotifyCursorTable } from './tables/audit.ts'
import type {
  DownloadAgentsTable,
  DownloadClientsTable,
  DownloadDaysTable,
  DownloadFileDaysTable,
  DownloadFilesTable,
  DownloadLogChoicesTable,
  DownloadLogsTable,
  DownloadPackageDaysTable,
  DownloadPackagesTable,
  DownloadTotalsTable,
  DownloadsTable,
  RecentDownloadsTable,
} from './tables/downloads.ts'
import type {
  ComponentReadsTable,
  ComponentWorkTable,
  ComponentsTable,
  EvidenceTable,
  FindingCountsTable,
  FindingNamesTable,
  FindingSetsTable,
  FindingsTable,
  FixVersionsTable,
  PackageCountsTable,
} from './tables/findings.ts'
import type {
  CatalogNameListsTable,
  CatalogNamesTable,
  CatalogRunsTable,
  CatalogTable,
  ImportRequestsTable,
  MirrorRefusalsTable,
  MirrorsTable,
  SecurityUpdatesTable,
  SourcesTable,
} from './tables/imports.ts'
import type {
  ActivityCursorTable,
  ActivityDaysTable,
  DashboardCountsTable,
  DriftTable,
  KeptAnswersTable,
  PoolDaysTable,
  RemovalHoldsTable,
  WebhookDeliveriesTable,
} from './tables/operations.ts'
import type {
  ArtifactsTable,
  BlobsTable,
  CapabilitiesTable,
  DecisionsTable,
  DependentsTable,
  InstallabilityTable,
  PackagesTable,
  PendingDeletionsTable,
  RecordsView,
  ReservationsTable,
  ReviewsTable,
  OnlookersTable,
  UndoNotesTable,
} from './tables/packages.ts'
import type {
  DistributionsTable,
  OfferEntriesTable,
  OfferEntryPiecesTable,
  OffersTable,
  PackageKeysTable,
  PublicationsTable,
  SupersededGenerationsTable,
} from './tables/publications.ts'
import type {
  ListingsTable,
  NameClaimsTable,
  RepositoriesTable,
  RepositoryMembersTable,
  SpentVersionsTable,
  TagsTable,
  VersionNotesTable,
  UpstreamFetchesTable,
  UpstreamListingsTable,
  WithheldTable,
} from './tables/repositories.ts'
import type { InstancesTable, JobTicksTable, LeasesTable, TaskLinesTable, TasksTable } from './tables/tasks.ts'

export type * from './tables/accounts.ts'
export type * from './tables/advisories.ts'
export type * from './tables/audit.ts'
export type * from './tables/downloads.ts'
export type * from './tables/findings.ts'
export type * from './tables/imports.ts'
export type * from './tables/operations.ts'
export type * from './tables/packages.ts'
export type * from './tables/publications.ts'
export type * from './tables/repositories.ts'
export type * from './tables/tasks.ts'

export interface Tables {
  users: UsersTable
  sessions: SessionsTable
  mfa_challenges: MfaChallengesTable
  recovery_codes: RecoveryCodesTable
  api_tokens: ApiTokensTable
  oidc_logins: OidcLoginsTable
  used_id_tokens: UsedIdTokensTable
  password_resets: PasswordResetsTable
  device_sign_ins: DeviceSignInsTable
  user_groups: UserGroupsTable
  machines: MachinesTable
  machine_enrolments: MachineEnrolmentsTable
  readers: ReadersTable
  access_revision: AccessRevisionTable
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
  undo_notes: UndoNotesTable
  fix_versions: FixVersionsTable
  onlookers: OnlookersTable
  findings: FindingsTable
  finding_names: FindingNamesTable
  finding_sets: FindingSetsTable
  evidence: EvidenceTable
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
  kept_answers: KeptAnswersTable
  component_reads: ComponentReadsTable
  components: ComponentsTable
  component_work: ComponentWorkTable
  removal_holds: RemovalHoldsTable
  drift: DriftTable
  sources: SourcesTable
  catalog: CatalogTable
  import_requests: ImportRequestsTable
  security_updates: SecurityUpdatesTable
  /** rows of a running sync */
  catalog_incoming: Omit<CatalogTable, 'synced_at'>
  catalog_names: CatalogNamesTable
  catalog_name_lists: CatalogNameListsTable
  reservations: ReservationsTable
  package_keys: PackageKeysTable
  catalog_runs: CatalogRunsTable
  /** null for a run that `catalog_runs` has already */
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
  repositories: RepositoriesTable
  repository_members: RepositoryMembersTable
  listings: ListingsTable
  tags: TagsTable
  version_notes: VersionNotesTable
  spent_versions: SpentVersionsTable
  upstream_listings: UpstreamListingsTable
  upstream_fetches: UpstreamFetchesTable
  withheld: WithheldTable
  name_claims: NameClaimsTable
}
