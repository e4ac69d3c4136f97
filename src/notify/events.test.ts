import { expect, test } from 'vitest'
import { eventOf, type AuditRow } from './events.ts'

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
