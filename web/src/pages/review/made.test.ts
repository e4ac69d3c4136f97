import { expect, test } from 'vitest'
import { told, toldUndone, undoneItems, waitAgain, type Made, type UndoneItem } from './made.ts'

const made: Made = { ids: [7], action: 'accept_risk', what: 'curl 8.1', where: ['noble'], at: 0, seconds: 0.62 }
const undone: UndoneItem = { result: 'undone', detail: null, served: false, downloads: { clients: 0 }, row: null }
const failed: UndoneItem = { result: 'failed', detail: 'it is too late', served: null, downloads: null, row: null }

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

test('decisions of a part without an answer are not undone, and only rows that are undone wait again', () => {
  const item = {
    ...{
      decision_id: 7,
      result: 'undone' as const,
      package: 'curl',
      version: '8.1',
      distribution: 'noble',
      arch: 'amd64',
    },
    ...{ status: 'pending_review' as const, served: false, downloads: null, code: null, detail: null },
  }
  const rows = ['group:curl', 'curl 8.1 amd64 noble', 'wget 1.2 amd64 noble']
  const items = undoneItems({ answers: [{ items: [item] }], failure: new Error('the connection broke off') }, [7, 8])
  expect(items.map(({ result, detail }) => [result, detail])).toEqual([
    ['undone', null],
    ['failed', 'the connection broke off'],
  ])
  expect(waitAgain(rows, items)).toEqual(['curl 8.1 amd64 noble'])
  expect(waitAgain(rows, undoneItems({ answers: [{ items: [item, item] }] }, [7, 8]))).toEqual(rows)
})
