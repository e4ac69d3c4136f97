// Maps audit entries to outbound events, their texts and their pages (docs/api-decisions.md, section 19). Pure.
import { sql, type Selectable } from 'kysely'
import { appPage, packagePath, reviewPath, type PagePath, type PageSubject } from '../../domain/app-page.ts'
import { isoTime } from '../../kernel/clock.ts'
import type { AuditTable } from '../../store/tables.ts'

export type NotifiedEvent =
  | 'CVE_BLOCKED'
  | 'PENDING_REVIEW'
  | 'DECISION'
  | 'SLA_EXPIRING'
  | 'SLA_OVERDUE'
  | 'SYNC_RESULT'
  | 'MIRROR_RESULT'
  | 'UPLOAD_FAILED'
  | 'ANTIVIRUS_HIT'
  | 'INTEGRITY_ALERT'
  | 'SCHEDULER_JOB_FAILED'

export type AuditRow = Selectable<AuditTable>

/** Refusals that only concern the uploader, whose client shows them. */
const ORDINARY = new Set([
  'already_exists',
  'duplicate_conflict',
  'validation_error',
  'unknown_distribution',
  'distribution_inactive',
  'format_mismatch',
  'arch_mismatch',
])

/** Most entries are never sent: a bulk import writes tens of thousands. This skips entries for which `eventOf` returns null. */
export const maySend = sql<boolean>`(action in ('SECURITY_DECISION', 'SLA_EXPIRED', 'SLA_EXPIRING', 'SYNC', 'MIRROR', 'INTEGRITY_ALERT', 'SCHEDULER_JOB_FAILED')
  or action in ('UPLOAD', 'IMPORT', 'PROMOTE', 'MIGRATE') and (outcome in ('pending_review', 'quarantined') or result = 'FAILURE')
  or action in ('CVE_REMATCH', 'RESCAN', 'DECISION_RESOLVED', 'DECISION_UNDONE') and outcome = 'pending_review')`

/**
 * @param pipeline results of the record's checks; null when there is no record
 * @param minPackages new or changed packages below which a sync or a mirror run is not reported; one that failed always is
 */
export function eventOf(
  entry: AuditRow,
  pipeline: Readonly<Record<string, string>> | null,
  minPackages: number,
): NotifiedEvent | null {
  switch (entry.action) {
    case 'UPLOAD':
    case 'IMPORT':
    case 'PROMOTE':
    case 'MIGRATE':
      if (entry.outcome === 'pending_review') return 'PENDING_REVIEW'
      if (entry.outcome === 'quarantined')
        return pipeline?.['antivirus'] === 'infected'
          ? 'ANTIVIRUS_HIT'
          : pipeline?.['cve_scan'] === 'blocked'
            ? 'CVE_BLOCKED'
            : 'UPLOAD_FAILED'
      return entry.result === 'FAILURE' && !ORDINARY.has(entry.outcome ?? '') ? 'UPLOAD_FAILED' : null
    case 'CVE_REMATCH':
    case 'RESCAN':
      return entry.result === 'WARNING' && entry.outcome === 'pending_review' ? 'PENDING_REVIEW' : null
    case 'DECISION_RESOLVED':
    case 'DECISION_UNDONE':
      return entry.outcome === 'pending_review' ? 'PENDING_REVIEW' : null
    case 'SECURITY_DECISION':
      return 'DECISION'
    case 'SLA_EXPIRED':
      return entry.outcome === 'overdue' ? 'SLA_OVERDUE' : 'PENDING_REVIEW'
    case 'SLA_EXPIRING':
      return 'SLA_EXPIRING'
    case 'SYNC':
      return entry.result === 'FAILURE' || countOf(entry, 'changed') >= minPackages ? 'SYNC_RESULT' : null
    case 'MIRROR':
      return entry.result === 'FAILURE' || countOf(entry, 'added', 'pending', 'blocked') >= minPackages
        ? 'MIRROR_RESULT'
        : null
    case 'INTEGRITY_ALERT':
    case 'SCHEDULER_JOB_FAILED':
      return entry.action
    default:
      return null
  }
}

function countOf({ extra }: AuditRow, ...keys: string[]): number {
  return keys.reduce((sum, key) => sum + (Number(extra[key]) || 0), 0)
}

const WORDS: Record<NotifiedEvent, string> = {
  CVE_BLOCKED: 'was blocked for its vulnerabilities',
  PENDING_REVIEW: 'waits for a decision',
  DECISION: 'has a decision',
  SLA_EXPIRING: 'deadlines approach',
  SLA_OVERDUE: 'is overdue for a decision',
  SYNC_RESULT: 'a sync ended',
  MIRROR_RESULT: 'a mirror run ended',
  UPLOAD_FAILED: 'was not accepted',
  ANTIVIRUS_HIT: 'was quarantined: malware was found',
  INTEGRITY_ALERT: 'differs from what was stored',
  SCHEDULER_JOB_FAILED: 'a scheduled job failed',
}

/** For entries that name no package: it was refused before one was read, or the entry is about several. */
const WITHOUT_PACKAGE: Partial<Record<NotifiedEvent, string>> = {
  CVE_BLOCKED: 'packages were blocked for their vulnerabilities',
  PENDING_REVIEW: 'packages wait for a decision',
  DECISION: 'packages have a decision',
  SLA_OVERDUE: 'packages are overdue for a decision',
  UPLOAD_FAILED: 'a package was not accepted',
  ANTIVIRUS_HIT: 'packages were quarantined: malware was found',
  INTEGRITY_ALERT: 'files differ from what was stored',
}

/** Texts for failed runs; runs may also succeed. */
const FAILED: Partial<Record<NotifiedEvent, string>> = {
  SYNC_RESULT: 'a source could not be read',
  MIRROR_RESULT: 'a mirror run failed',
}

/** The pages of events that name no package. */
const PAGES: Record<NotifiedEvent, PagePath> = {
  CVE_BLOCKED: '/packages?status=quarantined',
  PENDING_REVIEW: '/review',
  DECISION: '/decisions',
  SLA_EXPIRING: '/review?sort=due',
  SLA_OVERDUE: '/review?sort=due',
  SYNC_RESULT: '/import',
  MIRROR_RESULT: '/import?tab=mirrors',
  UPLOAD_FAILED: '/audit?action=UPLOAD&result=FAILURE',
  ANTIVIRUS_HIT: '/packages?status=quarantined',
  INTEGRITY_ALERT: '/drift',
  SCHEDULER_JOB_FAILED: '/health',
}

/** The page of the console that an event is about. */
export function pageOf(event: NotifiedEvent, about: PageSubject): PagePath {
  if (about.package === null) return PAGES[event]
  return event === 'PENDING_REVIEW' || event === 'SLA_OVERDUE' ? reviewPath(about) : packagePath(about.package, about)
}

export interface Message {
  text: string
  event: NotifiedEvent | 'TEST'
  id: string
  timestamp: string
  /** the page of the console that it is about */
  url: string
  data: Record<string, unknown>
}

function wordsOf({ result, package: pkg }: AuditRow, event: NotifiedEvent): string {
  const failed = result === 'FAILURE' ? FAILED[event] : undefined
  const general = pkg === null ? WITHOUT_PACKAGE[event] : undefined
  return failed ?? general ?? WORDS[event]
}

/**
 * The same entry always gives the same message, so that a receiver recognises a repetition by its id.
 * @param appUrl address of the web console
 */
export function messageOf(entry: AuditRow, event: NotifiedEvent, appUrl: string): Message {
  const name =
    entry.package === null
      ? 'Gatehouse'
      : [entry.package, entry.version, entry.distribution && `in ${entry.distribution}`].filter(Boolean).join(' ')
  const { package: pkg, version, distribution, arch, outcome, detail } = entry
  return {
    text: `${name}: ${wordsOf(entry, event)}${detail ? ` (${detail})` : ''}`,
    event,
    id: `audit-${entry.seq}`,
    timestamp: isoTime(entry.at),
    url: appPage(appUrl, pageOf(event, entry)),
    data: { package: pkg, version, distribution, arch, user: entry.username, outcome, detail, ...entry.extra },
  }
}
