// /artifacts: packages by name, their dependencies, and deleting them.
import type { Finding } from '../../domain/finding.ts'
import { mayAccess } from '../../domain/roles.ts'
import type { Downloads } from '../../operations/downloads/downloads.ts'
import type { IntakeFormat, Placed } from '../../formats/intake-format.ts'
import { withFixesAvailable } from '../../imports/fix-available.ts'
import type { FormatRegistry } from '../../packages/identify.ts'
import type { Clock } from '../../kernel/clock.ts'
import { unknownPackage, type DeletePackages } from '../../packages/delete-packages.ts'
import type { Previews } from '../../intake/previews.ts'
import { byFormat, someOfEachPlace } from '../../packages/records/of-a-name.ts'
import { fixesHere, type FixedHere } from '../../packages/records/fixed-here.ts'
import { SYNC_INDEX, type ReindexResult } from '../../packages/records/reindex.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import type { AuditLog } from '../../audit/log.ts'
import { auditPage } from '../../audit/audit-query.ts'
import type { Db } from '../../store/db.ts'
import { sha512Of } from '../../store/files/blob-query.ts'
import { artifactPage, headRows, recordsOf } from '../../store/records/artifact-query.ts'
import type { Totals } from '../../store/records/totals.ts'
import type { PackageRow } from '../../store/tables.ts'
import { resolveDependencies } from './dependencies.ts'
import { shortened } from '../http/list-stream.ts'
import { headOf, recordOf } from '../shared/records.ts'
import { type Route } from '../http/route.ts'
import { page } from '../http/schemas.ts'
import { MOST_FINDINGS, reviewStateOf } from '../security/views.ts'
import {
  getArtifacts,
  getArtifactsName,
  getArtifactsNameDependencies,
  deleteArtifactsName,
  deleteArtifactsNameVersion,
  postArtifactsAdminSyncIndex,
} from './artifacts.contract.ts'
import { handle } from '../http/route.ts'

export interface ArtifactDeps {
  db: Db
  clock: Clock
  audit: AuditLog
  registry: FormatRegistry
  totals: Totals
  deletePackages: DeletePackages
  previews: Pick<Previews, 'removal'>
  tasks: Pick<Tasks, 'run'>
  downloads: Pick<Downloads, 'radiusOfName'>
}

const HISTORY = 100
/** Full records of one name in an answer, the latest first. Narrower calls return the others. */
const MOST_RECORDS = 25
const MOST_HEADS = 1000
/** Dependencies in one of these records. */
const MOST_DEPENDENCIES = 1000
/** Missing dependencies of one package in a list. */
const MOST_MISSING = 20

function shortRecord<R extends { dependencies: readonly unknown[]; cve_results: readonly unknown[] | null }>(
  record: R,
  fixIn: (finding: Finding) => FixedHere,
) {
  return {
    ...record,
    dependencies: record.dependencies.slice(0, MOST_DEPENDENCIES),
    cve_results:
      (record.cve_results as Finding[] | null)?.slice(0, MOST_FINDINGS).map((one) => ({ ...one, ...fixIn(one) })) ??
      null,
  }
}

export function artifactRoutes(deps: ArtifactDeps): Route[] {
  const { db } = deps
  const formatOf = (row: Pick<PackageRow, 'distribution'>): IntakeFormat =>
    (deps.registry.place(row.distribution) as Placed).format

  return [
    handle(getArtifacts, async ({ query }) => {
      const { items, total } = await artifactPage(db, deps.totals, query, query.sort, {
        page: query.page,
        perPage: query.per_page,
      })
      return page(
        items.map(({ record, versions, versionsTotal, distributions }) => ({
          ...headOf(record),
          latest_version: record.version,
          versions: versions.sort((a, b) => formatOf(record).versions.compare(b, a)),
          versions_total: versionsTotal,
          distributions,
          format: record.format,
          type: record.format,
          architecture: record.arch,
          manifest_status: record.status,
          sha256: record.sha256,
          size_bytes: record.size_bytes,
          deps_missing: record.deps_missing.slice(0, MOST_MISSING),
          description: shortened(record.description),
          section: record.section,
          cve_summary: record.cve_summary,
        })),
        total,
        query,
      )
    }),
    handle(getArtifactsName, async ({ params, query, caller }) => {
      const selector = { name: params.name, ...query }
      const sorted = byFormat(await headRows(db, selector), formatOf)
      const siblings = query.version === undefined ? sorted : await headRows(db, { name: params.name })
      const full = await recordsOf(
        db,
        someOfEachPlace(sorted, MOST_RECORDS).map((row) => row.id),
      )
      const [latest] = full
      if (!latest) throw unknownPackage(selector)
      const sha512 = await sha512Of(
        db,
        full.map((row) => row.sha256),
      )
      const reviewState = await reviewStateOf(db, full, deps.clock.now())
      const record = (row: PackageRow) => recordOf(row, { sha512: sha512.get(row.sha256) ?? '' }, reviewState(row))
      const history = await auditPage(db, { package: params.name }, { page: 1, perPage: HISTORY })
      const mayAudit = mayAccess(caller.role, 'auditor+')
      const findings = latest.cve_results as Finding[] | null
      const { decision, dependencies, manifest_status, cve_status, validation_steps } = record(latest)
      return {
        name: params.name,
        info: {
          latest: latest.version,
          description: latest.description,
          section: latest.section,
          versions: Object.fromEntries(
            sorted
              .slice(0, MOST_HEADS)
              .reverse()
              .map((row) => [row.version, headOf(row)]),
          ),
        },
        versions: full.map((row) => shortRecord(record(row), fixesHere(row, siblings, formatOf(row)))),
        versions_total: sorted.length,
        formats: [...new Set(sorted.map((row) => row.format))],
        distributions: [...new Set(sorted.map((row) => row.distribution))].sort(),
        history: history.items.map((entry) => (mayAudit ? entry : { ...entry, user: null, ip: null })),
        validation_steps,
        cve_results: findings && (await withFixesAvailable(db, latest, findings, formatOf(latest).versions)),
        manifest_status,
        cve_status,
        decision,
        dependencies,
        blast_radius: mayAudit ? await deps.downloads.radiusOfName(params.name, latest.format) : null,
      }
    }),
    handle(getArtifactsNameDependencies, async ({ params, query }) => {
      const rows = await headRows(db, { name: params.name, ...query })
      const [latest] = byFormat(rows, formatOf)
      const [row] = latest ? await recordsOf(db, [latest.id]) : []
      if (!row) throw unknownPackage({ ...params, ...query })
      return resolveDependencies(db, row, deps.registry.place(row.distribution) as Placed)
    }),
    handle(deleteArtifactsName, async ({ params, query: { dry_run, ...query }, caller, origin }) => {
      const { packages, ...preview } = await deps.previews.removal({ name: params.name, ...query })
      const gone = dry_run ? packages : await deps.deletePackages({ name: params.name, ...query }, caller, origin)
      return {
        status: dry_run ? 'dry_run' : 'deleted',
        package: params.name,
        versions: [...new Set(gone.map((row) => row.version))],
        deleted: gone.length,
        ...preview,
      }
    }),
    handle(deleteArtifactsNameVersion, async ({ params, query: { dry_run, ...query }, caller, origin }) => {
      const { packages, ...preview } = await deps.previews.removal({ ...params, ...query })
      const gone = dry_run ? packages : await deps.deletePackages({ ...params, ...query }, caller, origin)
      return {
        status: dry_run ? 'dry_run' : 'deleted',
        package: params.name,
        version: params.version,
        distributions: [...new Set(gone.map((row) => row.distribution))],
        ...preview,
      }
    }),
    handle(postArtifactsAdminSyncIndex, async ({ caller, origin }) => {
      const request = { kind: SYNC_INDEX, createdBy: caller.name, requestId: origin.requestId }
      const { task_id, ...result } = await deps.tasks.run(request)
      const { packages_indexed, orphans, missing_files } = result as unknown as ReindexResult
      await deps.audit.record({
        action: 'SYNC_INDEX',
        result: 'SUCCESS',
        user: caller.name,
        detail: `${packages_indexed} packages`,
        ip: origin.ip,
        requestId: origin.requestId,
      })
      return { status: 'ok', packages_indexed, orphans, missing_files, task_id }
    }),
  ]
}
