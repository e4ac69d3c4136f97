import { describe, expect, test } from 'vitest'
import { matchesPattern, reservedName, type Reservation } from './reservations.ts'

test.each([
  ['acme', 'acme', true],
  ['acme', 'acme2', false],
  ['acme-*', 'acme-agent', true],
  ['acme-*', 'acme', false],
  ['*acme*', 'my-acme-tools', true],
  ['acme-?', 'acme-1', true],
  ['acme-?', 'acme-', false],
  ['a*b*c', 'a-b-b-c', true],
  ['a*b*c', 'a-b-b-d', false],
  ['Acme', 'aCME', true],
  ['a+c', 'aac', false],
  ['*', '', true],
])('%s matches %s: %s', (pattern, name, expected) => {
  expect(matchesPattern(pattern, name)).toBe(expected)
})

test('a pattern of many stars takes no exponential time', () => {
  expect(matchesPattern('*a'.repeat(50), `${'a'.repeat(5000)}b`)).toBe(false)
})

describe('a package', () => {
  let id = 0
  const reserve = (pattern: string, source_id: number | null, format: string | null = null): Reservation => ({
    ...{ id: ++id, pattern, format, source_id },
  })
  const claims = { format: 'deb', name: 'tool', provides: ['acme', 'acme-lib(x86-64)'], replaces: ['old-acme'] }
  const refused = (reservations: Reservation[], sourceId: number | null) => {
    const found = reservedName(reservations, claims, sourceId)
    return found && [found.claim, found.name, found.reservation.pattern]
  }

  test.each([
    ['of a free name', [], 7, null],
    ['of a name for uploads, imported', [reserve('tool', null)], 7, ['name', 'tool', 'tool']],
    ['of a name for uploads, uploaded', [reserve('tool', null)], null, null],
    ['of a name for its source', [reserve('tool', 7)], 7, null],
    ['of a name for another source', [reserve('tool', 8)], 7, ['name', 'tool', 'tool']],
    ['of a name for a source, uploaded', [reserve('tool', 7)], null, ['name', 'tool', 'tool']],
    ['of a name of another format', [reserve('tool', null, 'rpm')], 7, null],
    ['that provides a reserved name', [reserve('acme', null)], 7, ['provides', 'acme', 'acme']],
    [
      'that provides it for one architecture',
      [reserve('acme-lib', null)],
      7,
      ['provides', 'acme-lib(x86-64)', 'acme-lib'],
    ],
    ['that replaces a reserved name', [reserve('old-*', null)], 7, ['replaces', 'old-acme', 'old-*']],
    ['where a name outranks a pattern', [reserve('*', null), reserve('tool', 7)], 7, ['provides', 'acme', '*']],
    [
      'where a longer pattern outranks a shorter one',
      [reserve('t*', 7), reserve('to*', 8)],
      7,
      ['name', 'tool', 'to*'],
    ],
    ['of a name for two sources', [reserve('tool', 8), reserve('tool', 7)], 7, null],
  ])('%s', (_, reservations, sourceId, expected) => {
    expect(refused(reservations, sourceId)).toEqual(expected)
  })
})
