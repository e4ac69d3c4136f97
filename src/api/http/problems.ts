// Maps every problem code to its HTTP status. No other file knows status numbers.
import { invalidField, Problem, type ProblemCode } from '../../domain/problem.ts'
import { fullDisk, isStorageFull } from '../../kernel/files.ts'
import { DatabaseAway } from '../../store/database-away.ts'

export const STATUS_OF: Record<ProblemCode, number> = {
  validation_error: 400,
  wrong_password: 400,
  wrong_code: 400,
  unknown_key: 400,
  invalid_role: 400,
  weak_password: 400,
  self_role_change: 400,
  self_delete: 400,
  self_deactivate: 400,
  last_admin: 400,
  external_account: 400,
  reset_token_invalid: 400,
  authorization_pending: 400,
  slow_down: 400,
  access_denied: 400,
  expired_token: 400,
  oidc_disabled: 400,
  invalid_package: 400,
  unknown_distribution: 400,
  distribution_inactive: 400,
  format_mismatch: 400,
  arch_mismatch: 400,
  checksum_mismatch: 400,
  same_distribution: 400,
  invalid_archive_name: 400,
  forbidden_target: 400,
  malformed_request: 400,
  unauthorized: 401,
  feature_unavailable: 402,
  forbidden: 403,
  session_required: 403,
  mfa_required: 403,
  setup_token_invalid: 403,
  self_approval: 403,
  policy_hold: 403,
  version_exists: 403,
  not_found: 404,
  unknown_api_version: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  request_timeout: 408,
  already_exists: 409,
  already_running: 409,
  setup_done: 409,
  duplicate_conflict: 409,
  policy_blocked: 409,
  not_under_review: 409,
  ambiguous: 409,
  bytes_changed: 409,
  signing_key_missing: 409,
  signing_key_exists: 409,
  not_published: 409,
  rejected_bytes: 409,
  account_conflict: 409,
  built_in_source: 409,
  name_reserved: 409,
  not_empty: 409,
  not_hosted: 409,
  version_spent: 409,
  task_ended: 409,
  task_cancelled: 409,
  machines_full: 409,
  idempotency_in_progress: 409,
  changed_meanwhile: 412,
  file_too_large: 413,
  body_too_large: 413,
  idempotency_key_reused: 422,
  index_empty: 424,
  rate_limited: 429,
  not_judged: 429,
  header_too_large: 431,
  internal_error: 500,
  publication_failed: 500,
  backup_unavailable: 500,
  storage_full: 500,
  upstream_error: 502,
  scanner_unavailable: 503,
  reader_unavailable: 503,
  storage_unavailable: 503,
  database_unavailable: 503,
  database_busy: 503,
  scan_incomplete: 503,
  passive_replica: 503,
  ldap_unavailable: 503,
  webhook_not_configured: 503,
  shutting_down: 503,
  overloaded: 503,
  timeout: 504,
}

const DEFAULT_RETRY_SECONDS = 30

export interface ErrorAnswer {
  status: number
  headers: Record<string, string>
  body: { detail: string; code: ProblemCode; [key: string]: unknown }
}

/** What a client sees of a Problem (decisions, section 1). */
export function answerOf(problem: Problem): ErrorAnswer {
  const status = STATUS_OF[problem.code]
  const headers: Record<string, string> = {}
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  if (status === 503 || status === 429)
    headers['retry-after'] = String(Math.max(1, Math.ceil(problem.retryAfterSeconds ?? DEFAULT_RETRY_SECONDS)))
  return { status, headers, body: { ...problem.extra, detail: problem.detail, code: problem.code } }
}

/** Turns a thrown value into a Problem. `isBug` is true for unexpected errors, which must be logged with their stack. */
export function problemOf(error: unknown, requestId: string): { problem: Problem; isBug: boolean } {
  if (error instanceof Problem) return { problem: error, isBug: false }
  const known = fromFramework(error)
  if (known) return { problem: known, isBug: false }
  if (error instanceof DatabaseAway) return { problem: databaseUnavailable(error), isBug: false }
  if (isStorageFull(error))
    return { problem: new Problem('storage_full', `${fullDisk(error)} is full; nothing was stored`), isBug: true }
  return {
    problem: new Problem('internal_error', 'an unexpected error happened; the log has it under this request id', {
      request_id: requestId,
    }),
    isBug: true,
  }
}

/** A restart of PostgreSQL takes less than a second, a failover some ten. */
const DATABASE_RETRY_SECONDS = 5

function databaseUnavailable(cause: DatabaseAway): Problem {
  const options = { cause, retryAfterSeconds: DATABASE_RETRY_SECONDS }
  return new Problem('database_unavailable', 'the database does not answer; try again', {}, options)
}

/** Errors of Fastify and its plug-ins that are the client's fault. */
function fromFramework(error: unknown): Problem | null {
  const { code, statusCode, message } = (error ?? {}) as { code?: string; statusCode?: number; message?: string }
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return new Problem('not_found', 'there is nothing at this address')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return invalidField('body', 'has a content type this endpoint does not take')
  if (statusCode === 400 || statusCode === 415 || statusCode === 406)
    return invalidField('body', message ?? 'is invalid')
  return null
}
