// The full and the short form of a package record, as clients see it (decisions, section 4).
import Type from 'typebox'
import { isoTime, isoTimeOrNull } from '../../kernel/clock.ts'
import type { BlobRow, PackageRow } from '../../store/tables.ts'
import { Nullable, TimeSchema } from '../http/schemas.ts'
import { CountsSchema, DecisionSchema, SlaSchema } from './decision-schemas.ts'
import { CoverageSchema, FindingSchema, ReviewReasonSchema, ValidationStepSchema } from './evidence-schemas.ts'
import { CveStatusSchema, FormatSchema, HeldReasonSchema, PackageStatusSchema } from './words.ts'

export const HeadSchema = Type.Object(
  {
    name: Type.String(),
    version: Type.String(),
    arch: Type.String(),
    distribution: Type.String(),
    status: PackageStatusSchema,
    cve_status: Nullable(CveStatusSchema),
    served: Type.Boolean({ description: 'clients are offered it' }),
    imported_at: TimeSchema,
    imported_by: Type.String(),
  },
  { title: 'RecordHead' },
)

/** One requirement of a package, as its record shows it. */
export const RequirementSchema = Type.Object(
  { name: Type.String(), version_constraint: Type.String() },
  { title: 'Requirement' },
)

/** Findings of a record by severity, and whether it was scanned at all; null when that step was not reached. */
export const SummarySchema = Nullable(
  Type.Object(
    {
      scanned: Type.Boolean(),
      components_scanned: Type.Optional(Type.Boolean({ description: 'whether the components inside were scanned' })),
      passed: Type.Optional(Type.Boolean()),
      ...CountsSchema.properties,
    },
    { title: 'CveSummary' },
  ),
)

/** Where a record came from. */
const OriginSchema = Type.Object(
  {
    imported_by: Type.String(),
    imported_at: TimeSchema,
    import_method: Type.Enum(['upload', 'import', 'mirror', 'proxy', 'promotion', 'migration']),
    import_group: Nullable(Type.String()),
    source_id: Nullable(Type.Integer()),
    promoted_from: Nullable(Type.String()),
  },
  { title: 'RecordOrigin' },
)

const IntegritySchema = Type.Object(
  {
    sha256: Type.String({ description: 'of the served bytes' }),
    sha512: Type.String(),
    gpg_signed: Type.Boolean(),
    received_sha256: Nullable(Type.String({ description: 'of the bytes as they came' })),
  },
  { title: 'RecordIntegrity' },
)

/** The open review of a record. */
const ReviewSchema = Type.Object(
  {
    origin: Nullable(Type.String({ description: 'what requested it' })),
    since: Nullable(TimeSchema),
    due_at: Nullable(TimeSchema),
    reasons: Type.Array(ReviewReasonSchema),
  },
  { title: 'RecordReview' },
)

const Text = Nullable(Type.String())

/** A second name of a key, which clients of the first version read. */
export const alias = (of: string) => Type.String({ deprecated: true, description: `\`${of}\`` })

export const RecordSchema = Type.Intersect(
  [
    HeadSchema,
    Type.Object({
      architecture: alias('arch'),
      type: alias('format'),
      manifest_status: alias('status'),
      format: FormatSchema,
      held_reason: Nullable(HeldReasonSchema),
      sha256: Type.String(),
      filename: Type.String(),
      section: Text,
      description: Text,
      maintainer: Text,
      license: Text,
      url: Text,
      source_package: Text,
      size_bytes: Type.Integer(),
      installed_size_kb: Nullable(Type.Integer()),
      source: OriginSchema,
      integrity: IntegritySchema,
      dependencies: Type.Array(RequirementSchema),
      deps_missing: Type.Array(Type.String()),
      tags: Type.Array(Type.String()),
      validation_steps: Type.Array(ValidationStepSchema),
      coverage: Type.Record(Type.String(), Nullable(CoverageSchema)),
      cve_summary: SummarySchema,
      cve_results: Nullable(Type.Array(FindingSchema)),
      decision: Nullable(DecisionSchema),
      sla: Nullable(SlaSchema),
      review: Nullable(ReviewSchema),
      last_scan: Nullable(TimeSchema),
      quarantined_at: Nullable(TimeSchema),
      quarantined_by: Text,
    }),
  ],
  { title: 'Record' },
)

type HeadColumns = Pick<
  PackageRow,
  'name' | 'version' | 'arch' | 'distribution' | 'status' | 'cve_status' | 'served' | 'imported_at' | 'imported_by'
>

export function headOf(row: HeadColumns) {
  return {
    name: row.name,
    version: row.version,
    arch: row.arch,
    distribution: row.distribution,
    status: row.status,
    cve_status: row.cve_status,
    served: row.served,
    imported_at: isoTime(row.imported_at),
    imported_by: row.imported_by,
  }
}

/** The active decision about a record, and its review deadline. */
export interface ReviewState {
  decision: object | null
  sla: object | null
}

export function recordOf(row: PackageRow, blob: Pick<BlobRow, 'sha512'>, reviewState: ReviewState) {
  return {
    ...headOf(row),
    architecture: row.arch,
    format: row.format,
    type: row.format,
    manifest_status: row.status,
    held_reason: row.held_reason,
    sha256: row.sha256,
    filename: row.filename,
    section: row.section,
    description: row.description,
    maintainer: row.maintainer,
    license: row.license,
    url: row.url,
    source_package: row.source_package,
    size_bytes: row.size_bytes,
    installed_size_kb: row.installed_size_kb,
    source: {
      imported_by: row.imported_by,
      imported_at: isoTime(row.imported_at),
      import_method: row.import_method,
      import_group: row.import_group,
      source_id: row.source_id,
      promoted_from: row.promoted_from,
    },
    integrity: {
      sha256: row.sha256,
      sha512: blob.sha512,
      gpg_signed: row.pipeline['gpg'] === 'signed',
      received_sha256: row.received_sha256,
    },
    dependencies: row.dependencies,
    deps_missing: row.deps_missing,
    tags: row.tags,
    validation_steps: row.validation_steps,
    coverage: row.coverage,
    cve_summary: row.cve_summary,
    cve_results: row.cve_results,
    decision: reviewState.decision,
    sla: reviewState.sla,
    review:
      row.status === 'pending_review'
        ? {
            origin: row.review_origin,
            since: isoTimeOrNull(row.review_since),
            due_at: isoTimeOrNull(row.review_due_at),
            reasons: row.review_reasons ?? [],
          }
        : null,
    last_scan: isoTimeOrNull(row.last_scan),
    quarantined_at: isoTimeOrNull(row.quarantined_at),
    quarantined_by: row.quarantined_by,
  }
}
