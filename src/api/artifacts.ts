// /artifacts: what the repository holds, name by name, and taking it out again.
import Type from 'typebox'
import type { Origin } from '../domain/audit.ts'
import type { Caller } from '../domain/caller.ts'
import { FORMATS } from '../domain/package.ts'
import { Problem } from '../domain/problem.ts'
import { mayAccess } from '../domain/roles.ts'
import { PACKAGE_STATUSES } from '../domain/status.ts'
import type { Bus } from '../kernel/bus.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import type { Clock } from '../kernel/clock.ts'
import type { FormatRegistry } from '../intake/identify.ts'
import { isLater } from '../records/artifacts.ts'
import type { PendingDeletions } from '../records/pending-deletions.ts'
import type { Publisher } from '../publish/publisher.ts'
import { deleteRecords } from '../records/delete-records.ts'
import type { ReindexResult } from '../records/reindex.ts'
import type { Totals } from '../store/records/totals.ts'
import { ARTIFACT_SORTS, artifactPage, selectRecords, type RecordSelector } from '../store/records/artifact-query.ts'
import type { AuditLog } from '../store/audit-log.ts'
import { auditPage } from '../store/audit-query.ts'
import type { Db } from '../store/db.ts'
import type { Manifests } from '../store/records/manifests.ts'
import type { PackageRow } from '../store/tables.ts'
import type { PackageFormat } from '../formats/format.ts'
import { resolveDependencies } from './dependencies.ts'
import { headOf, HeadSchema, recordOf, RecordSchema } from './records.ts'
import { route, type Route } from './route.ts'
import { Nullable, page, pageOf, pageQuery } from './schemas.ts'
import { standingOf } from './security-views.ts'

export interface ArtifactParts {
  db: Db
  clock: Clock
  audit: AuditLog
  bus: Bus
  registry: FormatRegistry
  publisher: Publisher
  manifests: Manifests
  pendingDeletions: PendingDeletions
  checkpoint: Checkpoint
  totals: Totals
  reindex(): Promise<ReindexResult>
  onError(error: unknown): void
}

const HISTORY = 100

const Name = Type.Object({ name: Type.String({ minLength: 1 }) })
const NameVersion = Type.Object({ name: Type.String({ minLength: 1 }), version: Type.String({ minLength: 1 }) })
const Narrowed = Type.Object({ distribution: Type.Optional(Type.String()), arch: Type.Optional(Type.String()) })

export function artifactRoutes(parts: ArtifactParts): Route[] {
  const { db } = parts
  const formatOf = (row: PackageRow): PackageFormat =>
    (parts.registry.find(row.distribution) as { format: PackageFormat }).format

  return [
    route({
      method: 'GET',
      path: '/artifacts',
      tag: 'artifacts',
      summary: 'One item for each name and format: its latest record, versions and distributions',
      access: 'reader+',
      query: Type.Object({
        ...pageQuery(),
        search: Type.Optional(Type.String({ maxLength: 200, description: 'substring of name or description' })),
        distribution: Type.Optional(Type.String()),
        status: Type.Optional(Type.Enum([...PACKAGE_STATUSES])),
        format: Type.Optional(Type.Enum([...FORMATS])),
        arch: Type.Optional(Type.String()),
        sort: Type.Enum([...ARTIFACT_SORTS], { default: 'name' }),
      }),
      answer: pageOf(
        Type.Intersect([
          HeadSchema,
          Type.Object({
            latest_version: Type.String(),
            versions: Type.Array(Type.String()),
            distributions: Type.Array(Type.String()),
          }),
        ]),
      ),
      problems: ['validation_error'],
      async handle({ query }) {
        const { items, total } = await artifactPage(db, parts.totals, query, query.sort, {
          page: query.page,
          perPage: query.per_page,
        })
        return page(
          items.map(({ record, versions, distributions }) => ({
            ...headOf(record),
            latest_version: record.version,
            versions: versions.sort((a, b) => formatOf(record).versions.compare(b, a)),
            distributions,
            format: record.format,
            type: record.format,
            architecture: record.arch,
            manifest_status: record.status,
            sha256: record.sha256,
            size_bytes: record.size_bytes,
            deps_missing: record.deps_missing,
            description: record.description,
            section: record.section,
            cve_summary: record.cve_summary,
          })),
          total,
          query,
        )
      },
    }),
    route({
      method: 'GET',
      path: '/artifacts/{name}',
      tag: 'artifacts',
      summary: 'All records of a name, the latest one’s checks, and its history',
      access: 'reader+',
      params: Name,
      query: Type.Object({ format: Type.Optional(Type.Enum([...FORMATS])) }),
      answer: Type.Object({
        name: Type.String(),
        info: Type.Object({
          latest: Type.String(),
          description: Nullable(Type.String()),
          section: Nullable(Type.String()),
          versions: Type.Object({}),
        }),
        versions: Type.Array(RecordSchema),
        history: Type.Array(Type.Unknown()),
        validation_steps: Type.Array(Type.Unknown()),
        cve_results: Nullable(Type.Array(Type.Unknown())),
        manifest_status: Type.String(),
        cve_status: Nullable(Type.String()),
        decision: Nullable(Type.Object({})),
        dependencies: Type.Array(Type.Unknown()),
      }),
      problems: ['not_found'],
      async handle({ params, query, caller }) {
        const all = await selectRecords(db, { name: params.name })
        const rows = ofOneFormat(all.filter((row) => !query.format || row.format === query.format))
        const latest = latestOf(rows, formatOf)
        if (!latest) throw unknownPackage(params)
        const digests = await db
          .selectFrom('blobs')
          .select(['sha256', 'sha512'])
          .where('sha256', 'in', [...new Set(rows.map((row) => row.sha256))])
          .execute()
        const sha512 = new Map(digests.map((row) => [row.sha256, row.sha512]))
        const standing = await standingOf(db, rows, parts.clock.now())
        const record = (row: PackageRow) => recordOf(row, { sha512: sha512.get(row.sha256) ?? '' }, standing(row))
        const sorted = [...rows].sort((a, b) => (isLater(formatOf(a).versions, a, b) ? -1 : 1))
        const history = await auditPage(db, { package: params.name }, { page: 1, perPage: HISTORY })
        const mayAudit = mayAccess(caller.role, 'auditor+')
        const { cve_results, decision, dependencies, manifest_status, cve_status, validation_steps } = record(latest)
        return {
          name: params.name,
          info: {
            latest: latest.version,
            description: latest.description,
            section: latest.section,
            versions: Object.fromEntries([...sorted].reverse().map((row) => [row.version, headOf(row)])),
          },
          versions: sorted.map(record),
          history: history.items.map((entry) => (mayAudit ? entry : { ...entry, user: null, ip: null })),
          validation_steps,
          cve_results,
          manifest_status,
          cve_status,
          decision,
          dependencies,
        }
      },
    }),
    route({
      method: 'GET',
      path: '/artifacts/{name}/dependencies',
      tag: 'artifacts',
      summary: 'Whether what a package needs can be installed from its distribution',
      access: 'reader+',
      params: Name,
      query: Type.Object({ version: Type.Optional(Type.String()), ...Narrowed.properties }),
      answer: Type.Object({
        package: Type.String(),
        version: Type.String(),
        distribution: Type.String(),
        dependencies: Type.Array(Type.Unknown()),
        all_satisfied: Type.Boolean(),
        missing: Type.Array(Type.String()),
        install_blocked: Type.Boolean(),
      }),
      problems: ['not_found'],
      async handle({ params, query }) {
        const rows = await selectRecords(db, { name: params.name, ...query })
        const row = latestOf(ofOneFormat(rows), formatOf)
        if (!row) throw unknownPackage({ ...params, ...query })
        return resolveDependencies(db, row, formatOf(row))
      },
    }),
    route({
      method: 'DELETE',
      path: '/artifacts/{name}',
      tag: 'artifacts',
      summary: 'Delete every version, in every distribution and architecture unless narrowed',
      access: 'maintainer+',
      params: Name,
      query: Narrowed,
      answer: Type.Object({
        status: Type.Literal('deleted'),
        package: Type.String(),
        versions: Type.Array(Type.String()),
        deleted: Type.Integer(),
      }),
      problems: ['not_found', 'publication_failed', 'already_running'],
      async handle({ params, query, caller, origin }) {
        const gone = await remove({ name: params.name, ...query }, caller, origin)
        return {
          status: 'deleted',
          package: params.name,
          versions: [...new Set(gone.map((row) => row.version))],
          deleted: gone.length,
        }
      },
    }),
    route({
      method: 'DELETE',
      path: '/artifacts/{name}/{version}',
      tag: 'artifacts',
      summary: 'Delete one version, in every distribution and architecture unless narrowed',
      access: 'maintainer+',
      params: NameVersion,
      query: Narrowed,
      answer: Type.Object({
        status: Type.Literal('deleted'),
        package: Type.String(),
        version: Type.String(),
        distributions: Type.Array(Type.String()),
      }),
      problems: ['not_found', 'publication_failed', 'already_running'],
      async handle({ params, query, caller, origin }) {
        const gone = await remove({ ...params, ...query }, caller, origin)
        return {
          status: 'deleted',
          package: params.name,
          version: params.version,
          distributions: [...new Set(gone.map((row) => row.distribution))],
        }
      },
    }),
    route({
      method: 'POST',
      path: '/artifacts/admin/sync-index',
      tag: 'artifacts',
      summary: 'Rebuild the package tables from the manifests',
      access: 'maintainer+',
      answer: Type.Object({
        status: Type.Literal('ok'),
        packages_indexed: Type.Integer(),
        orphans: Type.Integer(),
        missing_files: Type.Integer(),
      }),
      problems: ['already_running', 'publication_failed'],
      async handle({ caller, origin }) {
        const result = await parts.reindex()
        await parts.audit.record({
          action: 'SYNC_INDEX',
          result: 'SUCCESS',
          user: caller.name,
          detail: `${result.packages_indexed} packages`,
          ip: origin.ip,
          requestId: origin.requestId,
        })
        return { status: 'ok', ...result }
      },
    }),
  ]

  /** Answers after the packages are gone from what clients see. */
  async function remove(selector: RecordSelector, caller: Caller, origin: Origin): Promise<PackageRow[]> {
    const rows = await selectRecords(db, selector)
    if (rows.length === 0) throw unknownPackage(selector)
    const gone = await deleteRecords(
      db,
      parts.audit,
      rows.map((row) => row.id),
      {
        formatOf,
        manifestKey: parts.manifests.key,
        auditOf: (row) => ({
          action: 'DELETE',
          result: 'SUCCESS',
          user: caller.name,
          package: row.name,
          version: row.version,
          distribution: row.distribution,
          arch: row.arch,
          outcome: row.status,
          ip: origin.ip,
          requestId: origin.requestId,
          extra: { sha256: row.sha256 },
        }),
      },
    )
    parts.checkpoint('deleted')
    for (const codename of new Set(gone.filter((row) => row.served).map((row) => row.distribution)))
      await parts.publisher.converge(codename)
    for (const row of gone)
      parts.bus.emit('package', {
        action: 'deleted',
        package: row.name,
        version: row.version,
        distribution: row.distribution,
        status: null,
      })
    void parts.pendingDeletions.run().catch(parts.onError)
    return gone
  }
}

function unknownPackage(selector: RecordSelector): Problem {
  return new Problem(
    'not_found',
    `there is no package ${[selector.name, selector.version, selector.distribution, selector.arch].filter(Boolean).join(' ')}`,
  )
}

/** Versions of two formats cannot be compared: the format with the newest record speaks. */
function ofOneFormat(rows: PackageRow[]): PackageRow[] {
  const newest = rows.reduce<PackageRow | null>((best, row) => (best && best.id > row.id ? best : row), null)
  return rows.filter((row) => row.format === newest?.format)
}

function latestOf(rows: readonly PackageRow[], formatOf: (row: PackageRow) => PackageFormat): PackageRow | null {
  return rows.reduce<PackageRow | null>(
    (best, row) => (best && !isLater(formatOf(row).versions, row, best) ? best : row),
    null,
  )
}
