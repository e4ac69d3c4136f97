// /upload: the one way a person or a build brings a package in.
import Type from 'typebox'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import { invalidField, isProblem, type ProblemCode } from '../domain/problem.ts'
import type { Settings } from '../domain/settings.ts'
import { removeFile } from '../kernel/files.ts'
import type { Log } from '../kernel/log.ts'
import { openDistribution, type FormatRegistry } from '../intake/identify.ts'
import type { Arrival, IntakeResult } from '../intake/arrival.ts'
import type { Intake } from '../intake/intake.ts'
import type { AuditLog } from '../store/audit-log.ts'
import type { Staging } from '../store/files/staging.ts'
import { readUploadForm } from './multipart.ts'
import { problemOf } from './problems.ts'
import { route, type Route } from './route.ts'
import { errorEvent, openStream } from './sse.ts'
import { Nullable } from './schemas.ts'

export interface UploadParts {
  intake: Intake
  registry: FormatRegistry
  staging: Staging
  audit: AuditLog
  settings(): Settings
  log: Log
}

const PIPELINE_PROBLEMS: ProblemCode[] = [
  'validation_error',
  'unknown_distribution',
  'distribution_inactive',
  'invalid_package',
  'format_mismatch',
  'arch_mismatch',
  'checksum_mismatch',
  'already_exists',
  'duplicate_conflict',
  'file_too_large',
  'scanner_unavailable',
  'scan_incomplete',
  'publication_failed',
  'storage_full',
]

export const UploadAnswer = Type.Object({
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
  coverage: Type.Object({ antivirus: Nullable(Type.Unknown()), cve_scan: Nullable(Type.Unknown()) }),
  validation: Type.Object({
    passed: Type.Boolean(),
    cve_status: Nullable(Type.String()),
    steps: Type.Array(Type.Unknown()),
    deps_missing: Type.Array(Type.String()),
  }),
  held_reason: Nullable(Type.String()),
  warnings: Type.Array(Type.String()),
  message: Type.String(),
  duplicate: Type.Boolean(),
})

export function uploadRoutes(parts: UploadParts): Route[] {
  return [
    route({
      method: 'POST',
      path: '/upload',
      tag: 'upload',
      summary: 'Bring a package in: multipart form with `file`, `distribution` and optionally `sha256`',
      access: 'uploader+',
      limit: 'upload',
      flags: { multipart: true },
      query: Type.Object({
        strict: Type.Boolean({ default: false, description: '409 and 202 instead of 201 for what is not published' }),
      }),
      success: 201,
      answer: UploadAnswer,
      problems: [...PIPELINE_PROBLEMS, 'policy_blocked'],
      async handle({ raw, reply, query, caller, origin }) {
        const result = await parts.intake.accept(await arrivalOf(parts, raw, caller, origin))
        const { status, body } = answerOf(result, query.strict)
        reply.code(status).header('x-package-status', result.status)
        return body
      },
    }),
    route({
      method: 'POST',
      path: '/upload/stream',
      tag: 'upload',
      summary: 'The same with progress: events `step`, one `result`, then `data: done`',
      access: 'uploader+',
      limit: 'upload',
      flags: { multipart: true },
      answer: null,
      problems: PIPELINE_PROBLEMS,
      async handle({ raw, reply, caller, origin }) {
        const arrival = await arrivalOf(parts, raw, caller, origin)
        const stream = openStream(reply)
        const step = (data: unknown) => stream.send(data, 'step')
        step({
          name: 'reception',
          label: 'Reception',
          status: 'done',
          message: `${arrival.sizeBytes} bytes`,
          detail: null,
        })
        step({ name: 'validation', label: 'Validation', status: 'running', message: '', detail: null })
        try {
          const result = await parts.intake.accept({ ...arrival, progress: step })
          step({
            name: 'validation',
            label: 'Validation',
            status: result.status === 'published' ? 'done' : 'warn',
            message: result.message,
            detail: null,
          })
          stream.send(result, 'result')
        } catch (error) {
          const { problem, isBug } = problemOf(error, raw.id)
          if (isBug) parts.log.error({ request_id: raw.id, err: error }, 'upload failed')
          step({ name: 'validation', label: 'Validation', status: 'error', message: problem.detail, detail: null })
          stream.send(errorEvent(problem), 'result')
        }
        stream.sendText('done')
        stream.close()
        return undefined
      },
    }),
  ]
}

/** Receives the form; what is wrong with it is audited as a refused upload. */
async function arrivalOf(parts: UploadParts, raw: FastifyRequest, caller: Caller, origin: Origin): Promise<Arrival> {
  let fields: Record<string, string> = {}
  try {
    const form = await readUploadForm(raw, {
      maxBytes: parts.settings().validation.max_upload_size_mb * 1024 * 1024,
      newPath: parts.staging.newPath,
      checkFields(known) {
        fields = known
        if (known['distribution']) openDistribution(parts.registry, known['distribution'])
        if (known['sha256'] && !/^[0-9a-f]{64}$/i.test(known['sha256']))
          throw invalidField('sha256', 'is not a SHA-256 in hex')
      },
    })
    const distribution = form.fields['distribution']
    const arrival = {
      ...form.staged,
      declaredSha256: form.fields['sha256'] || null,
      method: 'upload' as const,
      importedBy: caller.name,
      origin,
      caller,
    }
    if (!distribution) {
      removeFile(form.staged.path)
      throw invalidField('distribution', 'is required')
    }
    return { ...arrival, distribution }
  } catch (error) {
    if (isProblem(error)) {
      await parts.audit.record({
        action: 'UPLOAD',
        result: 'FAILURE',
        user: caller.name,
        distribution: fields['distribution'] ?? null,
        outcome: error.code,
        detail: error.detail,
        ip: origin.ip,
        requestId: origin.requestId,
      })
    }
    throw error
  }
}

/** `?strict=true`: scripts that look at the status alone must not take a hold for success. */
function answerOf(result: IntakeResult, strict: boolean): { status: number; body: unknown } {
  if (strict && (result.status === 'quarantined' || result.status === 'rejected')) {
    return { status: 409, body: { ...result, code: 'policy_blocked', detail: result.message } }
  }
  if (strict && result.status === 'pending_review') return { status: 202, body: result }
  return { status: result.status === 'rejected' ? 200 : 201, body: result }
}
