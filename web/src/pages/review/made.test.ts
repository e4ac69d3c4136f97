import { expect, test } from 'vitest'
import { told, toldUndone, type Made, type UndoneItem } from './made.ts'

const made: Made = { ids: [7], action: 'accept_risk', what: 'curl 8.1', where: ['noble'], seconds: 0.62 }
const undone: UndoneItem = { result: 'undone', detail: null, served: false, downloads: { clients: 0 } }
const failed: UndoneItem = { result: 'failed', detail: 'it is too late', served: null, downloads: null }

test.each([
  [made, 'Approved curl 8.1. Published in noble after 0.6 s.'],
  [{ ...made, where: ['noble', 'jammy', 'noble'] }, 'Approved curl 8.1. Published in noble, jammy after 0.6 s.'],
  [{ ...made, action: 'reject' as const }, 'Rejected curl 8.1.'],
  [{ ...made, action: 'upgrade_required' as const }, 'Upgrade required for curl 8.1.'],
])('%j is told as "%s"', (one, text) => {
  expect(told(one)).toBe(text)
})

test.each([
  [[undone], 'Undone: curl 8.1 waits again. No download is known so far.'],
  [
    [{ ...undone, downloads: { clients: 2 } }],
    'Undone: curl 8.1 waits again. 2 clients have fetched it meanwhile and keep it.',
  ],
  // It was offered before the decision, too.
  [
    [{ ...undone, served: true, downloads: { clients: 2 } }],
    'Undone: curl 8.1 waits again. No download is known so far.',
  ],
  [[failed], 'Not undone: it is too late.'],
  [
    [undone, failed],
    'Undone: 1 package waits again. No download is known so far. 1 package not undone: it is too late.',
  ],
])('%j is told as "%s"', (items, text) => {
  expect(toldUndone('curl 8.1', items)).toBe(text)
})
