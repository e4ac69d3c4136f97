import { describe, expect, test } from 'vitest'
import { cvssRating, cvssScore } from './cvss.ts'

// Worked examples of FIRST's guides and others, all checked against a second implementation.
const SCORES: [vector: string, score: number, rating: string][] = [
  ['AV:N/AC:L/Au:N/C:N/I:N/A:C', 7.8, 'High'],
  ['AV:N/AC:L/Au:N/C:C/I:C/A:C', 10, 'High'],
  ['(AV:L/AC:H/Au:N/C:C/I:C/A:C)', 6.2, 'Medium'],
  ['AV:N/AC:L/Au:N/C:N/I:N/A:C/E:F/RL:OF/RC:C', 7.8, 'High'],
  ['AV:L/AC:L/Au:N/C:N/I:N/A:N', 0, 'Negligible'],
  ['CVSS:3.0/AV:N/AC:L/PR:L/UI:N/S:C/C:H/I:H/A:H', 9.9, 'Critical'],
  ['CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N', 6.1, 'Medium'],
  ['CVSS:3.1/AV:N/AC:L/PR:L/UI:N/S:C/C:L/I:L/A:N', 6.4, 'Medium'],
  ['CVSS:3.1/AV:N/AC:H/PR:N/UI:R/S:U/C:L/I:N/A:N', 3.1, 'Low'],
  ['CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N', 7.5, 'High'],
  ['CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H', 9.8, 'Critical'],
  ['CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H/E:U/RL:O', 9.8, 'Critical'],
  ['CVSS:3.1/AV:P/AC:H/PR:H/UI:R/S:C/C:N/I:N/A:N', 0, 'Negligible'],
  ['CVSS:4.0/AV:L/AC:L/AT:P/PR:L/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N', 7.3, 'High'],
  ['CVSS:4.0/AV:N/AC:L/AT:P/PR:N/UI:P/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N', 7.7, 'High'],
  ['CVSS:4.0/AV:N/AC:L/AT:P/PR:N/UI:N/VC:H/VI:L/VA:L/SC:N/SI:N/SA:N', 8.3, 'High'],
  ['CVSS:4.0/AV:L/AC:L/AT:N/PR:N/UI:P/VC:L/VI:N/VA:N/SC:N/SI:N/SA:N', 4.8, 'Medium'],
  ['CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:A/VC:N/VI:N/VA:N/SC:L/SI:L/SA:N', 5.1, 'Medium'],
  ['CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:L/VI:L/VA:N/SC:N/SI:N/SA:N', 6.9, 'Medium'],
  ['CVSS:4.0/AV:L/AC:L/AT:N/PR:H/UI:N/VC:N/VI:N/VA:N/SC:H/SI:N/SA:N', 5.9, 'Medium'],
  ['CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:H/SI:H/SA:H', 10, 'Critical'],
  ['CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:N/VI:N/VA:N/SC:N/SI:N/SA:N', 0, 'Negligible'],
]

test.each(SCORES)('%s scores %d, %s', (vector, score, rating) => {
  const result = cvssScore(vector)
  expect(result?.score).toBe(score)
  expect(cvssRating(result!)).toBe(rating)
})

test('threat and environment change the one score of version 4', () => {
  const base = 'CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N'
  const scores = ['', '/E:P', '/E:U', '/MSA:S', '/S:P/U:Amber'].map((more) => cvssScore(base + more)?.score)
  expect(scores[0]).toBe(9.3)
  expect(scores[1]).toBeLessThan(9.3)
  expect(scores[2]).toBeLessThan(scores[1]!)
  expect(scores[3]).toBeGreaterThan(9.3)
  expect(scores[4]).toBe(9.3)
})

describe('a malformed vector has no score', () => {
  test.each([
    '',
    'HIGH',
    '9.8',
    'CVSS:3.1/',
    'CVSS:3.1/AV:N',
    'CVSS:5.0/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H',
    'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:X',
    'CVSS:3.1/AV:N/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H',
    'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H/Foo:B',
    'CVSS:3.1/AV:N:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H',
    'AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H',
    'AV:N/AC:L/Au:N/C:N/I:N',
    'AV:N/AC:L/Au:constructor/C:N/I:N/A:C',
    'CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N',
    'CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:S/SI:N/SA:N',
    'CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N/E:Z',
    'CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:R/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N',
    'constructor:A/toString:B',
  ])('%s', (vector) => expect(cvssScore(vector)).toBeNull())
})
