import { expect, test } from 'vitest'
import { mayAccess, type Role } from '../../../../src/domain/roles.ts'
import { headlineOf } from './headline.ts'

const CALM = { overdue: 0, waiting: 0, ending: 0, total: 9, missing: 0, scanner: true }

test.each<[string, Partial<typeof CALM>, Role, string, string]>([
  ['overdue before what merely waits', { overdue: 2, waiting: 9 }, 'admin', '2 reviews are overdue', '/review'],
  ['one', { overdue: 1, waiting: 9 }, 'admin', '1 review is overdue', '/review'],
  [
    'no scanner before what waits',
    { waiting: 9, scanner: false },
    'maintainer',
    'Uploads are not scanned for malware',
    '/health',
  ],
  ['what waits before what expires', { waiting: 9, ending: 1 }, 'auditor', '9 packages wait for a decision', '/review'],
  ['what expires', { ending: 1 }, 'auditor', '1 exception expires within seven days', '/decisions'],
  [
    'an uploader is not sent to the queue',
    { overdue: 2, waiting: 9 },
    'uploader',
    'Nothing needs you now',
    '/packages',
  ],
  ['an uploader of an empty repository', { total: 0 }, 'uploader', 'There are no packages yet', '/upload'],
  ['a reader is not asked to upload', { total: 0 }, 'reader', 'Nothing needs you now', '/packages'],
  ['missing dependencies last', { missing: 3 }, 'admin', '3 packages with missing dependencies', '/packages'],
  ['all calm', {}, 'admin', 'Nothing needs you now', '/packages'],
])('%s', (_, changed, role, text, to) => {
  const { overdue, waiting, ending, total, missing, scanner } = { ...CALM, ...changed }
  const headline = headlineOf(
    {
      packages: { total, deps_missing_count: missing, total_size_bytes: 0, imports_today: 0 },
      antivirus: { available: scanner, daemon_running: scanner, db_version: null, db_date: null },
      security_review: {
        ...{ pending_review: waiting, overdue, expiring_soon_total: ending, expiring_soon: [], total_decisions: 0 },
        ...{ blocked: 0, quarantined: 0, accepted_risk: 0, exception: 0, upgrade_required: 0 },
      },
    },
    (access) => mayAccess(role, access),
  )
  expect([headline.figure, headline.text].filter((part) => part !== null).join(' ')).toBe(text)
  expect(headline.to).toBe(to)
})
