import { describe, expect, it } from 'vitest'
import { versions } from './versions.ts'

/** Each list is in ascending order; versions in one line, separated by a blank, are equal. */
const RISING: readonly (readonly string[])[] = [
  ['0', '0.1', '0.9', '0.10', '1', '1.0', '1.0.0', '1.0.1', '1.1', '1.9', '1.10', '2', '10'],
  // older suffixes, nothing, revisions, newer suffixes, a letter, a further number
  [
    '1_alpha',
    '1_alpha1',
    '1_beta',
    '1_beta2',
    '1_beta10',
    '1_pre',
    '1_rc',
    '1_rc1-r5',
    '1',
    '1-r0',
    '1-r1',
    '1-r10',
    '1_cvs',
    '1_svn',
    '1_git',
    '1_git20240101',
    '1_git20240102',
    '1_hg',
    '1_p',
    '1_p0',
    '1_p1',
    '1_p1-r1',
    '1a',
    '1b',
    '1.0',
  ],
  // further suffixes
  ['1_alpha_beta', '1_alpha', '1_alpha-r1', '1_alpha0', '1_alpha1_rc1', '1_alpha1', '1_alpha_git', '1_alpha_p1'],
  // after a dot a number that begins with 0 is a fraction
  ['1.0', '1.00', '1.001', '1.01', '1.010', '1.02', '1.1', '1.2', '1.10'],
  // but not in front, nor in suffixes and revisions
  ['0 00', '1 01 001', '1.0_p1 1.0_p01', '1.0_p2', '1.1-r1 1.1-r01', '1.1-r2'],
  // a commit hash stands behind a revision of the same version
  ['1.0_rc1~0a', '1.0', '1.0-r1', '1.0~0a', '1.0~0a-r0', '1.0~0b', '1.0_p1'],
  // numbers of any length that is allowed, and beyond exact floating point
  ['90071992547409920', '90071992547409921', '90071992547409922'],
]

describe('apk versions', () => {
  it.each(RISING.map((list) => [list.join(' < '), list]))('orders %s', (_, list) => {
    for (const [i, left] of list.entries()) {
      for (const [j, right] of list.entries()) {
        for (const a of left.split(' ')) {
          for (const b of right.split(' ')) {
            expect(versions.isValid(a), a).toBe(true)
            expect(Math.sign(versions.compare(a, b)), `${a} ${b}`).toBe(Math.sign(i - j))
          }
        }
      }
    }
  })

  it('is a total order over everything the grammar allows, and over what it does not', () => {
    const parts = {
      numbers: ['1', '1.0', '1.00', '1.01', '1.1'],
      letters: ['', 'a'],
      suffixes: ['', '_rc', '_rc1', '_p', '_p1', '_rc_p', '_p_rc'],
      hashes: ['', '~a0'],
      revisions: ['', '-r0', '-r2'],
    }
    let all = ['']
    for (const choices of Object.values(parts)) all = all.flatMap((start) => choices.map((choice) => start + choice))
    all.push('x', '1.', '')
    const sorted = [...all].sort((a, b) => versions.compare(a, b))
    const step = 7
    for (let i = 0; i < sorted.length; i += step) {
      for (let j = i; j < sorted.length; j += 3) {
        const [a, b] = [sorted[i]!, sorted[j]!]
        expect(versions.compare(a, b), `${a} ${b}`).toBeLessThanOrEqual(0)
        expect(Math.sign(versions.compare(b, a)), `${b} ${a}`).toBe(-Math.sign(versions.compare(a, b)) + 0)
      }
    }
  })

  it.each([
    '',
    'x',
    '1.',
    '.1',
    '1..2',
    '1A',
    '1ab',
    '1a1',
    '1a.1',
    '1_',
    '1_foo',
    '1_alphabet',
    '1_p-1',
    '1_p.1',
    '1~',
    '1~xyz',
    '1~AB',
    '1-r1~ab',
    '1-1',
    '1-r',
    '1-r1_p1',
    '1-r1-r2',
    '1-R1',
    '1 ',
    ' 1',
    '1\n',
    '1:1',
    '1+1',
    '1/2',
    '123456789012345678',
    `1.${'0.'.repeat(200)}0`,
  ])('refuses %j', (version) => expect(versions.isValid(version)).toBe(false))

  it.each<[string | null, string, string, boolean]>([
    ['1.2.3-r0', '=', '~1.2', true],
    ['1.2', '=', '~1.2', true],
    ['1.2-r4', '=', '~1.2', true],
    ['1.2_rc1', '=', '~1.2', true],
    ['1.20', '=', '~1.2', false],
    ['1.3', '=', '~1.2', false],
    ['1.1', '=', '~1.2', false],
    ['1', '=', '~1.2', false],
    ['1.3', '>=', '~1.2', true],
    ['1.2.9', '>=', '~1.2', true],
    ['1.1', '>=', '~1.2', false],
    ['1.2.9', '<=', '~1.2', true],
    ['1.3', '<=', '~1.2', false],
    ['1.2-r0', '=', '1.2', false],
    ['1.2-r0', '>=', '1.2', true],
    ['1.2-r0', '>', '1.2', true],
    ['1.2', '<', '1.2-r0', true],
    [null, '>=', '0', false],
    [null, '=', '~1', false],
  ])('an offer of %s meets %s %s: %s', (offered, op, wanted, expected) => {
    expect(versions.meets!(offered, op as '=', wanted)).toBe(expected)
  })
})
