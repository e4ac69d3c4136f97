// The state table: for each request the next state, and the generation that answers it.
import { describe, expect, test } from 'vitest'
import {
  LONGEST_PAUSE_MS,
  LONGEST_WAIT_MS,
  PAIRED_WAIT_MS,
  step,
  type PairRequest,
  type Readings,
} from './pair-reading.ts'

const THEN = 1_000_000
const NOW = THEN + 100
const NOTHING = { probes: 0, indexFirst: 0, paired: 0, signatureFirst: 0, keyAsked: 0 }

type Counts = Partial<typeof NOTHING>
const old = (counts: Counts): Readings => ({ ...NOTHING, ...counts, generation: 'old', atMs: THEN })
const take = (counts: Counts | null, request: PairRequest, { nowMs = NOW, live = 'live', mayWait = true } = {}) =>
  step(counts && old(counts), request, { nowMs, live, mayWait })

describe('the first request of a name', () => {
  test.each<[PairRequest, Counts]>([
    ['probe', { probes: 1 }],
    ['index', { indexFirst: 1 }],
    ['signature', { signatureFirst: 1 }],
    ['key', {}],
  ])('%s is answered from the live generation', (request, counts) => {
    const readings = { ...NOTHING, ...counts, generation: 'live', atMs: NOW }
    expect(take(null, request)).toEqual({ generation: 'live', readings })
  })
})

describe('the second half of a pair', () => {
  test.each<[PairRequest, Counts, Counts, string]>([
    ['signature', { indexFirst: 1 }, { paired: 1 }, 'old'],
    ['signature', { indexFirst: 2, probes: 1 }, { indexFirst: 1, paired: 1, probes: 1 }, 'old'],
    ['key', { signatureFirst: 1 }, { keyAsked: 1 }, 'live'],
    ['key', { paired: 1 }, { keyAsked: 1 }, 'live'],
    ['index', { keyAsked: 1 }, {}, 'old'],
    ['index', { keyAsked: 2, probes: 1 }, { keyAsked: 1, probes: 1 }, 'old'],
    ['index', { probes: 1 }, {}, 'old'],
  ])('%s in %o leads to %o and is answered from %s', (request, counts, next, generation) => {
    expect(take(counts, request)).toEqual({ generation, readings: { ...old(next), atMs: NOW } })
  })
})

describe('the start of a pair after a flip', () => {
  test.each<[PairRequest, Counts]>([
    ['index', { indexFirst: 1 }],
    ['index', { signatureFirst: 1 }],
    ['signature', { signatureFirst: 1 }],
    ['signature', { keyAsked: 1 }],
    ['probe', { indexFirst: 1 }],
    ['probe', { signatureFirst: 1 }],
    ['probe', { keyAsked: 1 }],
  ])('%s waits in %o', (request, counts) => {
    expect(take(counts, request)).toEqual({ waitMs: LONGEST_WAIT_MS - 100 })
  })

  test('waits a moment for a client that may ask for the key next', () => {
    expect(take({ paired: 1 }, 'index')).toEqual({ waitMs: PAIRED_WAIT_MS - 100 })
  })

  test.each<[string, Counts, object]>([
    ['nobody has half of a pair', { probes: 0 }, {}],
    ['nobody asked for the key in a moment', { paired: 3 }, { nowMs: THEN + PAIRED_WAIT_MS }],
    ['it has waited long enough', { indexFirst: 1 }, { mayWait: false }],
    ['the last request is long ago', { indexFirst: 1 }, { nowMs: THEN + LONGEST_WAIT_MS }],
  ])('is answered from the live generation when %s', (_, counts, moment) => {
    expect(take(counts, 'index', moment)).toMatchObject({
      generation: 'live',
      readings: { generation: 'live', indexFirst: 1, paired: 0, probes: 0 },
    })
  })
})

test('clients that start before a flip are counted', () => {
  expect(take({ indexFirst: 1 }, 'index', { live: 'old' })).toMatchObject({ readings: { indexFirst: 2 } })
})

test.each<[PairRequest, Counts]>([
  ['signature', { indexFirst: 1 }],
  ['index', { keyAsked: 1 }],
])('the second half %s no longer counts after the longest pause', (request, counts) => {
  expect(take(counts, request, { nowMs: THEN + LONGEST_PAUSE_MS })).toMatchObject({ generation: 'old' })
  expect(take(counts, request, { nowMs: THEN + LONGEST_PAUSE_MS + 1 })).toMatchObject({ generation: 'live' })
})
