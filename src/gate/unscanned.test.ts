import { expect, test } from 'vitest'
import type { Settings } from '../domain/settings.ts'
import { isUnscanned, unscannedOutcome, type UnscannedResult } from './unscanned.ts'

const settingsOf = (on_unscanned: string) => ({ validation: { on_unscanned } }) as Settings

test.each<[string, UnscannedResult, string]>([
  ['hold', 'error', 'hold'],
  ['hold', 'limited', 'hold'],
  ['allow', 'no_data', 'warn'],
])('with %s, the result %s ends in %s', (setting, result, outcome) => {
  expect(unscannedOutcome(settingsOf(setting), result, '')).toBe(outcome)
})

test.each<[UnscannedResult, string]>([
  ['error', 'scanner_unavailable'],
  ['limited', 'scan_incomplete'],
  ['no_data', 'scan_incomplete'],
])('with refuse, the result %s throws %s', (result, code) => {
  expect(() => unscannedOutcome(settingsOf('refuse'), result, 'why')).toThrow(expect.objectContaining({ code }))
})

test.each([
  [{ antivirus: 'clean', cve_scan: 'no_findings' }, false],
  [{ antivirus: 'skipped', cve_scan: 'blocked' }, false],
  [{ antivirus: 'limited', cve_scan: 'no_findings' }, true],
  [{ antivirus: 'clean', cve_scan: 'no_data' }, true],
  [{ antivirus: 'error' }, true],
  [{ gpg: 'error' }, false],
  [{}, false],
])('a pipeline of %o is unscanned: %s', (pipeline, expected) => {
  expect(isUnscanned(pipeline as Record<string, string>)).toBe(expected)
})
