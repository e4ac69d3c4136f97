// Converts an audit entry to events of the dashboard's stream (docs/api-decisions.md, section 14). Pure.
import type { Selectable } from 'kysely'
import type { Access } from '../../domain/roles.ts'
import { PACKAGE_STATUSES, type PackageStatus } from '../../domain/status.ts'
import type { BusEvents } from '../../kernel/bus.ts'
import type { AuditTable } from '../../store/tables.ts'

export interface LiveEvent {
  event: 'package' | 'decision' | 'scan' | 'review_queue' | 'sync' | 'job' | 'health'
  data: Record<string, unknown>
  /** position in the audit chain; null for states, which a client receives again when it connects again */
  id: number | null
  /** who may see it */
  access: Access
  /** keys that are null for callers without `auditor+` */
  people?: readonly string[]
}

export type ChainedEntry = Selectable<AuditTable> & { seq: number }

/** Actions with events; entries of other actions are not read. */
export const LIVE_ACTIONS = [
  ...['UPLOAD', 'IMPORT', 'DELETE', 'PROMOTE', 'MIGRATE', 'QUARANTINE'],
  ...['SECURITY_DECISION', 'DECISION_RESOLVED', 'DECISION_UNDONE', 'RESCAN', 'CVE_REMATCH', 'SLA_EXPIRED'],
] as const

type PackageAction = BusEvents['package']['action']

const BECOMES: Record<PackageStatus, PackageAction> = {
  published: 'published',
  pending_review: 'held',
  quarantined: 'quarantined',
  rejected: 'rejected',
}

/** The events of an entry, in order. Only the last one has an id: a client that received only some of them receives all again. */
export function liveEventsOf(entry: ChainedEntry): LiveEvent[] {
  const events = unnumbered(entry)
  return events.map((one, i) => ({ ...one, id: i === events.length - 1 ? entry.seq : null }))
}

function unnumbered(entry: ChainedEntry): Omit<LiveEvent, 'id'>[] {
  const { action, result, outcome, extra } = entry
  switch (action) {
    case 'UPLOAD':
    case 'IMPORT':
      return changed(entry, outcome)
    case 'DELETE':
      return result === 'FAILURE' ? [] : [packageEvent(entry, 'deleted', null)]
    case 'PROMOTE':
    case 'MIGRATE':
      return result === 'FAILURE' ? [] : [packageEvent(entry, 'promoted', outcome)]
    case 'QUARANTINE':
      return changed(entry, 'quarantined')
    case 'SECURITY_DECISION':
      if (result === 'FAILURE') return []
      return [
        decisionEvent(entry),
        ...(extra['status'] === extra['previous_status'] ? [] : changed(entry, extra['status'])),
      ]
    case 'DECISION_RESOLVED':
      return [decisionEvent(entry), ...(outcome === 'pending_review' ? changed(entry, outcome) : [])]
    case 'DECISION_UNDONE':
      return [decisionEvent(entry), ...(outcome === extra['previous_status'] ? [] : changed(entry, outcome))]
    case 'SLA_EXPIRED':
      return changed(entry, outcome)
    case 'RESCAN':
    case 'CVE_REMATCH':
      return [scanEvent(entry), ...(outcome === extra['previous_status'] ? [] : changed(entry, outcome))]
    default:
      return []
  }
}

/** The event of a record with this new status; none when the text is no status. */
function changed(entry: ChainedEntry, status: unknown): Omit<LiveEvent, 'id'>[] {
  const known = PACKAGE_STATUSES.find((one) => one === status)
  return known === undefined ? [] : [packageEvent(entry, BECOMES[known], known)]
}

const named = ({ package: name, version, distribution, arch }: ChainedEntry) => ({
  ...{ package: name, version, distribution, arch },
})

const packageEvent = (entry: ChainedEntry, action: PackageAction, status: string | null): Omit<LiveEvent, 'id'> => ({
  ...{ event: 'package', access: 'reader+' },
  data: { action, ...named(entry), status },
})

const WITHOUT_ACTION: Readonly<Record<string, string>> = { DECISION_RESOLVED: 'resolved', DECISION_UNDONE: 'undone' }

const decisionEvent = (entry: ChainedEntry): Omit<LiveEvent, 'id'> => ({
  ...{ event: 'decision', access: 'reader+', people: ['decided_by'] },
  data: {
    ...named(entry),
    action: WITHOUT_ACTION[entry.action] ?? entry.outcome,
    status: entry.extra['status'] ?? entry.outcome,
    decided_by: entry.username,
  },
})

const scanEvent = (entry: ChainedEntry): Omit<LiveEvent, 'id'> => ({
  ...{ event: 'scan', access: 'reader+' },
  data: {
    kind: entry.action === 'RESCAN' ? 'rescan' : 'rematch',
    ...named(entry),
    result: entry.result,
    outcome: entry.outcome,
  },
})
