// An audit event as rooms report it; `store/audit-log` chains and keeps it.

export interface AuditEvent {
  /** one of the actions of decisions, section 5; the list is open */
  action: string
  result: 'SUCCESS' | 'FAILURE' | 'WARNING'
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

/** Where a request comes from; handed down so that what it causes is audited with it. */
export interface Origin {
  ip: string | null
  requestId: string | null
}
