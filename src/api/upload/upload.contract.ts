// Declarations of /upload and /upload/stream.
import Type from 'typebox'
import { type ProblemCode } from '../../domain/problem.ts'
import { CoverageSchema, ValidationStepSchema } from '../shared/evidence-schemas.ts'
import { DoneText, ErrorEvent } from '../shared/event-schemas.ts'
import { Nullable } from '../http/schemas.ts'
import { declare } from '../http/route.ts'

export const PIPELINE_PROBLEMS: ProblemCode[] = [
  'validation_error',
  'unknown_distribution',
  'distribution_inactive',
  'invalid_package',
  'format_mismatch',
  'arch_mismatch',
  'checksum_mismatch',
  'already_exists',
  'duplicate_conflict',
  'name_reserved',
  'file_too_large',
  'scanner_unavailable',
  'reader_unavailable',
  'scan_incomplete',
  'publication_failed',
  'storage_unavailable',
  'storage_full',
]

export const UploadAnswer = Type.Object(
  {
    status: Type.Enum(['published', 'pending_review', 'quarantined', 'rejected']),
    package: Type.String(),
    version: Type.String(),
    distribution: Type.String(),
    pipeline: Type.Object({
      antivirus: Type.String(),
      cve_scan: Type.String(),
      gpg: Type.String(),
      dependencies: Type.String(),
    }),
    filename: Type.String(),
    arch: Type.String(),
    sha256: Type.String(),
    coverage: Type.Object({ antivirus: Nullable(CoverageSchema), cve_scan: Nullable(CoverageSchema) }),
    validation: Type.Object({
      passed: Type.Boolean(),
      cve_status: Nullable(Type.String()),
      steps: Type.Array(ValidationStepSchema),
      deps_missing: Type.Array(Type.String()),
    }),
    held_reason: Nullable(Type.String()),
    warnings: Type.Array(Type.String()),
    message: Type.String(),
    duplicate: Type.Boolean(),
  },
  { title: 'UploadAnswer' },
)

const UploadStep = Type.Object(
  {
    name: Type.String(),
    label: Type.String(),
    status: Type.Enum(['running', 'done', 'warn', 'error']),
    message: Type.String(),
    detail: Type.Unknown(),
  },
  { title: 'UploadStep' },
)

/** The fields may come in any order. */
const Form = Type.Object(
  {
    file: Type.String({ format: 'binary', description: 'the package' }),
    distribution: Type.String({ description: 'codename that takes it' }),
    sha256: Type.Optional(Type.String({ description: 'of the file, in hex: other bytes are refused' })),
  },
  { title: 'UploadForm' },
)
const example = { file: 'acme-tool_1.4.2-1_amd64', distribution: 'bookworm' }

export const postUpload = declare({
  method: 'POST',
  path: '/upload',
  tag: 'upload',
  summary: 'Upload a package: a multipart form with `file`, `distribution` and optionally `sha256`',
  access: 'uploader+',
  idempotencyKey: true,
  action: 'upload',
  targets: 'handler',
  limit: 'upload',
  flags: { multipart: true },
  form: Form,
  example,
  query: Type.Object({
    strict: Type.Boolean({
      default: false,
      description: '409 and 202 instead of 201 for packages that are not published',
    }),
  }),
  success: 201,
  also: { 200: 'These bytes were rejected before', 202: 'With `strict`: waits for review' },
  answer: UploadAnswer,
  problems: [...PIPELINE_PROBLEMS, 'policy_blocked'],
  verdicts: ['policy_blocked'],
})

export const postUploadStream = declare({
  method: 'POST',
  path: '/upload/stream',
  tag: 'upload',
  summary: 'Upload a package with progress: events `step`, one `result`, then `data: done`',
  access: 'uploader+',
  action: 'upload',
  targets: 'handler',
  limit: 'upload',
  flags: { multipart: true },
  form: Form,
  example,
  answer: null,
  media: ['text/event-stream'],
  events: { step: UploadStep, result: Type.Union([UploadAnswer, ErrorEvent]), message: DoneText },
  problems: PIPELINE_PROBLEMS,
})
