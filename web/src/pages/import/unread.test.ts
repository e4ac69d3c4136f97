import { expect, test } from 'vitest'
import { looked } from './unread.ts'

const source = (name: string, last: string | null, more: object = {}) => ({
  ...{ name, security: true, enabled: true, last_sync: last },
  ...more,
})

test('only security sources that were read say anything, and the oldest of them says how old it is', () => {
  expect(
    looked([
      source('debian', '2026-11-02T00:00:00+00:00'),
      source('alma', '2026-11-01T00:00:00+00:00'),
      source('fedora', null),
      source('off', null, { enabled: false }),
      source('plain', null, { security: false }),
    ]),
  ).toEqual({ read: 2, never: ['fedora'], oldest: '2026-11-01T00:00:00+00:00' })
  expect(looked([source('debian', null)])).toEqual({ read: 0, never: ['debian'], oldest: null })
})
