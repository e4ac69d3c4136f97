// An audit event as rooms record it; audit/log chains and stores it.

export const AUDIT_RESULTS = ['SUCCESS', 'FAILURE', 'WARNING'] as const

export interface AuditEvent {
  /** an action of docs/api-decisions.md, section 5; the list is open */
  action: string
  result: (typeof AUDIT_RESULTS)[number]
  user: string | null
  package?: string | null
  version?: string | null
  distribution?: string | null
  arch?: string | null
  detail?: string | null
  /** the finer result: a status or an error code */
  outcome?: string | null
  ip?: string | null
  requestId?: string | null
  extra?: Record<string, unknown>
}

/** Where a request came from; recorded with every audit event it causes. */
export interface Origin {
  ip: string | null
  requestId: string | null
}
