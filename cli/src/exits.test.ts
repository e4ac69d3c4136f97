// Exit codes of failures and of several files.
import { expect, test } from 'vitest'
import { exitOf, exitOfStatus, gravest } from './exits.ts'

test.each([
  ['unauthorized', 401, 4],
  ['forbidden', 403, 4],
  ['feature_unavailable', 402, 4],
  ['duplicate_conflict', null, 3],
  ['bytes_changed', 409, 3],
  ['invalid_package', 400, 3],
  ['file_too_large', 413, 3],
  ['unknown_distribution', 400, 2],
  ['not_found', 404, 6],
  ['ambiguous', 409, 2],
  ['unknown_api_version', 404, 2],
  ['network_error', null, 1],
  ['rate_limited', 429, 1],
  ['internal_error', 500, 1],
  ['aborted', null, 130],
] as const)('%s (%s) ends with %s', (code, status, exit) => {
  expect(exitOf({ code, status })).toBe(exit)
})

test.each([
  ['published', 0],
  ['pending_review', 5],
  ['quarantined', 3],
  ['rejected', 3],
] as const)('%s ends with %s', (status, exit) => {
  expect(exitOfStatus(status)).toBe(exit)
})

test.each([
  [[], 0],
  [[0, 5], 5],
  [[5, 1, 0], 1],
  [[1, 3, 5], 3],
  [[3, 4, 1], 4],
  [[1, 6, 5], 6],
  [[2, 6], 2],
  [[4, 130], 130],
] as const)('of %s the gravest is %s', (exits, exit) => {
  expect(gravest(exits)).toBe(exit)
})
