import { expect, test } from 'vitest'
import { liveEventsOf, type ChainedEntry } from './live-events.ts'

const entry = (action: string, more: Partial<ChainedEntry>): ChainedEntry => ({
  ...{ id: 1, seq: 7, at: new Date(0), action, result: 'SUCCESS', username: 'ann', extra: {}, filed: false },
  ...{ package: 'p', version: '1', distribution: 'jammy', arch: 'amd64', detail: 'private', outcome: null },
  ...{ ip: '192.0.2.1', request_id: null, prev_hash: null, hash: null, mac: null, day: null },
  ...more,
})
const FAILED = { result: 'FAILURE' as const }
const decided = (from: string, status: string) => ({ outcome: 'exception', extra: { previous_status: from, status } })

test.each<[string, Partial<ChainedEntry>, string[]]>([
  ['UPLOAD', { outcome: 'published' }, ['package published']],
  ['IMPORT', { outcome: 'pending_review' }, ['package held']],
  ['UPLOAD', { outcome: 'quarantined', ...FAILED }, ['package quarantined']],
  ['UPLOAD', { outcome: 'rejected', ...FAILED }, ['package rejected']],
  ['UPLOAD', { outcome: 'already_exists', ...FAILED }, []],
  ['DELETE', { outcome: 'published' }, ['package deleted']],
  ['DELETE', FAILED, []],
  ['PROMOTE', { outcome: 'published' }, ['package promoted']],
  ['MIGRATE', FAILED, []],
  ['QUARANTINE', { outcome: 'quarantined' }, ['package quarantined']],
  ['SECURITY_DECISION', decided('pending_review', 'published'), ['decision exception', 'package published']],
  ['SECURITY_DECISION', decided('published', 'published'), ['decision exception']],
  ['SECURITY_DECISION', { outcome: 'assigned' }, ['decision assigned']],
  ['SECURITY_DECISION', FAILED, []],
  ['DECISION_RESOLVED', { outcome: 'pending_review' }, ['decision resolved', 'package held']],
  [
    'DECISION_UNDONE',
    { outcome: 'pending_review', extra: { previous_status: 'published' } },
    ['decision undone', 'package held'],
  ],
  ['DECISION_UNDONE', { outcome: 'pending_review', extra: { previous_status: 'pending_review' } }, ['decision undone']],
  ['SLA_EXPIRED', { outcome: 'overdue' }, []],
  ['SLA_EXPIRED', { outcome: 'pending_review' }, ['package held']],
  ['RESCAN', { outcome: 'published', extra: { previous_status: 'published' } }, ['scan rescan']],
  [
    'CVE_REMATCH',
    { outcome: 'pending_review', extra: { previous_status: 'published' } },
    ['scan rematch', 'package held'],
  ],
  ['LOGIN', {}, []],
])('%s %j gives %j', (action, more, events) => {
  const found = liveEventsOf(entry(action, more))
  expect(found.map(({ event, data }) => `${event} ${String(data['action'] ?? data['kind'])}`)).toEqual(events)
  expect(found.map(({ id }) => id)).toEqual(events.map((_, i) => (i === events.length - 1 ? 7 : null)))
  expect(JSON.stringify(found)).not.toMatch(/private|192\.0\.2/)
})
