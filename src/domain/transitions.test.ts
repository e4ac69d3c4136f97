import { expect, test } from 'vitest'
import { PACKAGE_STATUSES } from './status.ts'
import { servedAfter, STATUS_EVENTS, transitionOf, TRANSITIONS } from './transitions.ts'

test('each event in each state is declared once', () => {
  const keys = TRANSITIONS.map(({ from, event }) => `${from} ${event}`)
  expect(new Set(keys).size).toBe(keys.length)
  expect(new Set(TRANSITIONS.map(({ event }) => event))).toEqual(new Set(STATUS_EVENTS))
})

test('a rejected record can only be deleted, or the rejection be undone', () => {
  const leaving = TRANSITIONS.filter(({ from, to }) => from === 'rejected' && to !== 'rejected')
  expect(leaving.map(({ event }) => event)).toEqual(['undo', 'undo_served', 'delete'])
})

test.each(['published', 'rejected', 'pending_review'] as const)(
  'undoing a decision that left a record %s offers it to clients exactly if they were offered it before',
  (status) => {
    for (const [event, served] of [
      ['undo', false],
      ['undo_served', true],
    ] as const) {
      const transition = transitionOf(status, event)
      // A rejected record is not served; a record under review is served as it was.
      const now = status === 'pending_review' ? served : status === 'published'
      expect(transition && [transition.to, servedAfter(transition, now)]).toEqual(['pending_review', served])
    }
  },
)

test('only a passed upload, a placement, an approval, a scan that was missing at arrival and an undone rejection add a package to the index', () => {
  expect(TRANSITIONS.filter(({ served }) => served === 'offered').map(({ event }) => event)).toEqual([
    'arrive_passed',
    'place',
    'approve',
    'pass',
    'undo_served',
  ])
})

test('no scan publishes, approves, refuses or unpublishes', () => {
  for (const event of ['reopen', 'refresh', 'clear'] as const) {
    for (const { from, to, served } of TRANSITIONS.filter((transition) => transition.event === event)) {
      expect([
        event,
        to === 'published' && from !== 'published',
        served === 'offered',
        served === 'unpublished',
      ]).toEqual([event, false, false, false])
    }
  }
})

test.each(PACKAGE_STATUSES.filter((status) => status !== 'pending_review'))(
  'a %s record cannot be decided',
  (status) => {
    for (const event of ['approve', 'reject', 'require_upgrade'] as const)
      expect(transitionOf(status, event)).toBeNull()
  },
)

test('a package held after publication stays served', () => {
  for (const event of ['reopen', 'expire', 'revoke'] as const) {
    const transition = transitionOf('published', event)
    expect(transition && [transition.to, servedAfter(transition, true)]).toEqual(['pending_review', true])
  }
})

test('quarantined and rejected records are never in the index', () => {
  for (const transition of TRANSITIONS.filter(({ to }) => to === 'quarantined' || to === 'rejected')) {
    expect(servedAfter(transition, transition.from !== transition.to)).toBe(false)
  }
})
