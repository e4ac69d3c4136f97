// Whether a cause for quarantine is left.
import { expect, test } from 'vitest'
import type { Outcome, PipelineResult } from '../domain/status.ts'
import { isStillBlocked, isStillInfected } from './inspect.ts'

test.each<[string | undefined, Outcome, PipelineResult, boolean]>([
  ['infected', 'pass', 'clean', false],
  ['infected', 'refuse', 'infected', true],
  ['infected', 'hold', 'limited', true],
  ['infected', 'pass', 'skipped', true],
  ['infected', 'hold', 'error', true],
  ['clean', 'refuse', 'infected', true],
  ['clean', 'hold', 'limited', false],
  ['skipped', 'pass', 'skipped', false],
  [undefined, 'pass', 'clean', false],
])('%s, and now %s %s: infected is %s', (before, outcome, result, expected) => {
  expect(isStillInfected(before, { outcome, result })).toBe(expected)
})

test.each<[string | undefined, PipelineResult | null, boolean]>([
  ['blocked', null, true],
  ['blocked', 'no_findings', false],
  ['blocked', 'review', false],
  ['no_findings', 'blocked', true],
  ['no_findings', null, false],
  ['not_run', null, false],
  [undefined, 'blocked', true],
])('%s, and now %s: blocked is %s', (before, result, expected) => {
  expect(isStillBlocked(before, result && { result })).toBe(expected)
})
