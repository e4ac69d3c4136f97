// The error that inner rooms throw: a stable code and a sentence. api/http/problems.ts maps codes to HTTP statuses.

/** Every code a client may see. A code without a status in api/http/problems.ts does not compile. */
export const PROBLEM_CODES = [
  // 400
  'validation_error',
  'wrong_password',
  'wrong_code',
  'unknown_key',
  'invalid_role',
  'weak_password',
  'self_role_change',
  'self_delete',
  'self_deactivate',
  'last_admin',
  'external_account',
  'reset_token_invalid',
  'authorization_pending',
  'slow_down',
  'access_denied',
  'expired_token',
  'oidc_disabled',
  'invalid_package',
  'unknown_distribution',
  'distribution_inactive',
  'format_mismatch',
  'arch_mismatch',
  'checksum_mismatch',
  'same_distribution',
  'invalid_archive_name',
  'forbidden_target',
  'malformed_request',
  // 401, 402, 403
  'unauthorized',
  'feature_unavailable',
  'forbidden',
  'session_required',
  'mfa_required',
  'setup_token_invalid',
  'self_approval',
  'policy_hold',
  'version_exists',
  // 404, 405, 406
  'not_found',
  'unknown_api_version',
  'method_not_allowed',
  'not_acceptable',
  // 408
  'request_timeout',
  // 409
  'already_exists',
  'already_running',
  'setup_done',
  'duplicate_conflict',
  'policy_blocked',
  'not_under_review',
  'ambiguous',
  'bytes_changed',
  'signing_key_missing',
  'signing_key_exists',
  'not_published',
  'rejected_bytes',
  'account_conflict',
  'built_in_source',
  'name_reserved',
  'not_empty',
  'not_hosted',
  'version_spent',
  'task_ended',
  'task_cancelled',
  'machines_full',
  'idempotency_in_progress',
  // 412
  'changed_meanwhile',
  // 413, 422, 424, 429
  'file_too_large',
  'body_too_large',
  'idempotency_key_reused',
  'index_empty',
  'rate_limited',
  'not_judged',
  'header_too_large',
  // 500 and above
  'internal_error',
  'publication_failed',
  'backup_unavailable',
  'storage_full',
  'storage_unavailable',
  'database_unavailable',
  'database_busy',
  'upstream_error',
  'timeout',
  'scanner_unavailable',
  'reader_unavailable',
  'scan_incomplete',
  'passive_replica',
  'ldap_unavailable',
  'webhook_not_configured',
  'shutting_down',
  'overloaded',
] as const

export type ProblemCode = (typeof PROBLEM_CODES)[number]

/**
 * An expected failure.
 * @param detail one sentence for people, always safe to show to the caller
 * @param extra sibling keys of the error body, for machines
 */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly detail: string
  readonly extra: Record<string, unknown>
  readonly retryAfterSeconds: number | undefined
  constructor(
    code: ProblemCode,
    detail: string,
    extra: Record<string, unknown> = {},
    options?: { cause?: unknown; retryAfterSeconds?: number },
  ) {
    super(`${code}: ${detail}`, options?.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.detail = detail
    this.extra = extra
    this.retryAfterSeconds = options?.retryAfterSeconds
  }
}

/** True for a Problem, and for a Problem of that code where one is given. */
export function isProblem(error: unknown, code?: ProblemCode): error is Problem {
  return error instanceof Problem && (code === undefined || error.code === code)
}

/** A missing or malformed field, in the shape `validation_error` promises. */
export function invalidField(field: string, message: string): Problem {
  return new Problem('validation_error', `${field}: ${message}`, { errors: [{ field, message }] })
}
