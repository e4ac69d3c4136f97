// Which superseded generations may be removed.
import { expect, test } from 'vitest'
import { GRACE_MS } from '../../domain/grace.ts'
import { removableGenerations } from './cleaner.ts'

const NOW = new Date('2026-03-01T12:00:00.000Z')
const ago = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000)
const GRACE = GRACE_MS / 60_000

test.each([
  ['none is superseded', {}, []],
  ['the last two, however old', { r1: 900, r2: 600 }, []],
  ['older ones within the grace time', { r1: GRACE - 1, r2: 2, r3: 1 }, []],
  ['an older one at the end of the grace time', { r1: GRACE, r2: 2, r3: 1 }, []],
  ['older ones beyond the grace time, oldest first', { r1: 60, r2: 50, r3: 40, r4: 30 }, ['r1', 'r2']],
  ['one that was superseded in a future that a wrong clock made', { r1: -900, r2: -800, r3: -700 }, ['r3']],
  [
    'those of one moment in the order of their revisions',
    { 'r10-': 60, 'r9-': 60, 'r8-': 60, 'r11-': 60 },
    ['r8-', 'r9-'],
  ],
  ['a future within the grace time', { r1: -1, r2: -2, r3: -3 }, []],
])('%s', (_, minutesAgo, expected) => {
  const superseded = Object.entries(minutesAgo).map(([generation, at]) => ({ generation, supersededAt: ago(at) }))
  expect(removableGenerations(superseded, NOW)).toEqual(expected)
})
