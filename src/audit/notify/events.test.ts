import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { eventOf, maySend, messageOf, type AuditRow } from './events.ts'

const entry = (fields: Partial<AuditRow>) => ({ package: null, outcome: null, extra: {}, ...fields }) as AuditRow
const run = (result: AuditRow['result'], counts: object) =>
  entry({ action: 'MIRROR', result, extra: { added: 0, pending: 0, blocked: 0, ...counts } })

test.each<[string, AuditRow, number, string | null]>([
  ['brought enough', run('SUCCESS', { added: 3 }), 3, 'MIRROR_RESULT'],
  ['brought packages that are held or blocked', run('WARNING', { pending: 1, blocked: 1 }), 2, 'MIRROR_RESULT'],
  ['brought too few', run('WARNING', { added: 1, skipped: 5, error: 5 }), 2, null],
  ['brought nothing', run('SUCCESS', {}), 1, null],
  ['brought nothing, where nothing is enough', run('SUCCESS', {}), 0, 'MIRROR_RESULT'],
  ['failed', run('FAILURE', {}), 100, 'MIRROR_RESULT'],
])('a mirror run that %s', (_, audited, least, event) => {
  expect(eventOf(audited, null, least)).toBe(event)
})

const sync = (result: AuditRow['result'], extra: object) => entry({ action: 'SYNC', result, extra: { ...extra } })

test.each<[string, AuditRow, number, string | null]>([
  ['brought enough', sync('SUCCESS', { count: 60_000, changed: 5 }), 5, 'SYNC_RESULT'],
  ['brought too few', sync('SUCCESS', { count: 60_000, changed: 4 }), 5, null],
  ['found nothing changed', sync('SUCCESS', { count: 60_000, changed: 0 }), 1, null],
  ['found nothing changed, where nothing is enough', sync('SUCCESS', { changed: 0 }), 0, 'SYNC_RESULT'],
  ['failed', sync('FAILURE', { source_id: 1 }), 100, 'SYNC_RESULT'],
])('a sync that %s', (_, audited, least, event) => {
  expect(eventOf(audited, null, least)).toBe(event)
})

test.each([
  ['SYNC', 'SYNC_RESULT', 'a sync ended', 'a source could not be read'],
  ['MIRROR', 'MIRROR_RESULT', 'a mirror run ended', 'a mirror run failed'],
] as const)('%s: the text says whether it failed', (action, event, ended, failed) => {
  const textOf = (result: AuditRow['result']) =>
    messageOf(entry({ action, result, detail: 'why', at: new Date(0) }), event, 'https://gate.test/').text
  expect([textOf('SUCCESS'), textOf('WARNING'), textOf('FAILURE')]).toEqual([
    `Gatehouse: ${ended} (why)`,
    `Gatehouse: ${ended} (why)`,
    `Gatehouse: ${failed} (why)`,
  ])
})

test('an upload that was refused before its package was read has a subject', () => {
  const refused = entry({ action: 'UPLOAD', result: 'FAILURE', detail: 'why', at: new Date(0) })
  expect(messageOf(refused, 'UPLOAD_FAILED', 'https://gate.test').text).toBe(
    'Gatehouse: a package was not accepted (why)',
  )
  const named = { ...refused, package: 'curl', version: '8.1', distribution: 'noble' }
  expect(messageOf(named, 'UPLOAD_FAILED', 'https://gate.test').text).toBe('curl 8.1 in noble: was not accepted (why)')
})

test.each([
  ['PENDING_REVIEW', 'curl', '/review?item=curl%208.1%20amd64%20noble'],
  ['DECISION', 'curl', '/packages/curl?version=%228.1%22&distribution=noble&arch=amd64'],
  ['PENDING_REVIEW', null, '/review'],
  ['INTEGRITY_ALERT', null, '/drift'],
  ['MIRROR_RESULT', null, '/import?tab=mirrors'],
] as const)('%s about %s leads to its page', (event, name, path) => {
  const about = { package: name, version: '8.1', distribution: 'noble', arch: 'amd64', at: new Date(0) }
  expect(messageOf(entry(about), event, 'https://gate.test/').url).toBe(`https://gate.test${path}`)
})

test('the outbox skips exactly the entries that make no event', async ({ onTestFinished }) => {
  const database = await createTestDatabase()
  onTestFinished(() => database.close())
  const actions =
    'UPLOAD IMPORT CVE_REMATCH RESCAN DECISION_RESOLVED DECISION_UNDONE SECURITY_DECISION SLA_EXPIRED SLA_EXPIRING SYNC MIRROR INTEGRITY_ALERT SCHEDULER_JOB_FAILED LOGIN PROMOTE'
  const outcomes = [null, 'pending_review', 'quarantined', 'published', 'overdue', 'failed', 'already_exists']
  const entries = actions
    .split(' ')
    .flatMap((action) =>
      (['SUCCESS', 'WARNING', 'FAILURE'] as const).flatMap((result) =>
        outcomes.map((outcome) => entry({ action, result, outcome })),
      ),
    )
  const { rows } = await sql<{ taken: boolean | null }>`
    select ${maySend} as taken from jsonb_to_recordset(${JSON.stringify(entries)}::jsonb) as e(action text, result text, outcome text)`.execute(
    database.db,
  )
  const sent = entries.map((one) =>
    [null, { antivirus: 'infected' }].some((checks) => eventOf(one, checks, 0) !== null),
  )
  for (const [at, one] of entries.entries()) if (sent[at]) expect([one, rows[at]?.taken]).toEqual([one, true])
  const ofImports = entries.findIndex(({ action, outcome }) => action === 'IMPORT' && outcome === 'published')
  expect(rows[ofImports]?.taken).toBe(false)
})
