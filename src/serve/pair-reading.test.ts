// The state table: the next state of each request, and the generation that answers it.
import { describe, expect, test } from 'vitest'
import { IDLE, LONGEST_PAUSE_MS, step, type PairRequest, type Reading } from './pair-reading.ts'

const THEN = 1_000_000
const NOW = THEN + 5_000
const old = { generation: 'old', atMs: THEN }
const live = { generation: 'live', atMs: NOW }

const indexFirst: Reading = { state: 'IndexFirst', ...old }
const paired: Reading = { state: 'Paired', ...old }
const signatureFirst: Reading = { state: 'SignatureFirst', ...old }
const keyAsked: Reading = { state: 'KeyAsked', ...old }
const probe = (interrupted: Exclude<Reading, { state: 'Probe' }>): Reading => ({
  state: 'Probe',
  atMs: THEN,
  interrupted,
})

const take = (reading: Reading, request: PairRequest, moment: { nowMs?: number; gone?: boolean } = {}) =>
  step(reading, request, { nowMs: moment.nowMs ?? NOW, live: 'live', has: () => !moment.gone })

const idle = { state: 'Idle' } as const
const newIndexFirst = { state: 'IndexFirst', ...live }
const newSignatureFirst = { state: 'SignatureFirst', ...live }

describe('a request', () => {
  test.each<[string, Reading, PairRequest, string, object]>([
    ['Idle', IDLE, 'index', 'live', newIndexFirst],
    ['Idle', IDLE, 'signature', 'live', newSignatureFirst],
    ['Idle', IDLE, 'key', 'live', idle],
    ['Idle', IDLE, 'probe', 'live', { state: 'Probe', atMs: NOW, interrupted: idle }],

    ['IndexFirst', indexFirst, 'index', 'live', newIndexFirst],
    ['IndexFirst', indexFirst, 'signature', 'old', paired],
    ['IndexFirst', indexFirst, 'key', 'live', indexFirst],
    ['IndexFirst', indexFirst, 'probe', 'live', { state: 'Probe', atMs: NOW, interrupted: indexFirst }],

    ['Paired', paired, 'index', 'live', newIndexFirst],
    ['Paired', paired, 'signature', 'old', paired],
    ['Paired', paired, 'key', 'live', { state: 'KeyAsked', generation: 'old', atMs: NOW }],

    ['SignatureFirst', signatureFirst, 'index', 'live', newIndexFirst],
    ['SignatureFirst', signatureFirst, 'signature', 'live', newSignatureFirst],
    ['SignatureFirst', signatureFirst, 'key', 'live', { state: 'KeyAsked', generation: 'old', atMs: NOW }],

    ['KeyAsked', keyAsked, 'index', 'old', keyAsked],
    ['KeyAsked', keyAsked, 'signature', 'live', newSignatureFirst],
    ['KeyAsked', keyAsked, 'key', 'live', { state: 'KeyAsked', generation: 'old', atMs: NOW }],

    ['Probe', probe(idle), 'index', 'live', idle],
    ['Probe', probe(keyAsked), 'index', 'live', keyAsked],
    ['Probe', probe(indexFirst), 'signature', 'old', paired],
    ['Probe', probe(signatureFirst), 'key', 'live', { state: 'KeyAsked', generation: 'old', atMs: NOW }],
    ['Probe', probe(indexFirst), 'probe', 'live', { state: 'Probe', atMs: NOW, interrupted: indexFirst }],
  ])('in %s: %o, %s is answered from %s', (_, reading, request, generation, next) => {
    expect(take(reading, request)).toEqual({ generation, reading: next })
  })
})

describe('a first half that no longer counts', () => {
  test.each<[string, Reading, PairRequest]>([
    ['IndexFirst', indexFirst, 'signature'],
    ['Paired', paired, 'signature'],
    ['KeyAsked', keyAsked, 'index'],
  ])('in %s gives way to the live generation', (_, reading, request) => {
    expect(take(reading, request, { nowMs: THEN + LONGEST_PAUSE_MS }).generation).toBe('old')
    expect(take(reading, request, { nowMs: THEN + LONGEST_PAUSE_MS + 1 }).generation).toBe('live')
    expect(take(reading, request, { gone: true }).generation).toBe('live')
  })

  test('in Probe makes the next index the start of a reading', () => {
    const nowMs = THEN + LONGEST_PAUSE_MS + 1
    expect(take(probe(idle), 'index', { nowMs }).reading).toEqual({
      state: 'IndexFirst',
      generation: 'live',
      atMs: nowMs,
    })
  })
})
