import { describe, expect, it } from 'vitest'
import { areTogether, archsIn, archsOf, reachOf } from './architectures.ts'
import { debFormat } from './deb/index.ts'
import { rpmFormat } from './rpm/index.ts'

const OLDER = ['i586', 'i486', 'i386']

describe('the packages that the index of an architecture takes', () => {
  it.each([
    [rpmFormat, 'i686', ['i686', ...OLDER, 'noarch']],
    [rpmFormat, 'x86_64', ['x86_64', 'noarch']],
    [debFormat, 'i386', ['i386', 'all']],
  ])('are those for it, for older machines and for all (%#)', (format, arch, expected) => {
    expect(archsIn(format, arch)).toEqual(expected)
  })

  it('are together what a distribution takes', () => {
    expect(archsOf(rpmFormat, { architectures: ['x86_64', 'i686'] })).toEqual(['x86_64', 'i686', ...OLDER, 'noarch'])
  })
})

describe('what a package needs', () => {
  const architectures = ['x86_64', 'i686']
  it.each([
    ['i386', ['i686', ...OLDER]],
    ['i686', ['i686', ...OLDER]],
    ['x86_64', ['x86_64']],
    ['noarch', ['x86_64', 'i686', ...OLDER]],
    ['s390x', ['s390x']],
  ])('of %s may be met by packages that the same clients are offered', (arch, own) => {
    expect(reachOf({ arch }, rpmFormat, { architectures })).toEqual({ own, neutral: ['noarch'] })
  })
})

it.each([
  ['i386', 'i686', true],
  ['i386', 'i586', true],
  ['i386', 'x86_64', false],
  ['noarch', 'x86_64', true],
])('%s and %s are offered to one client: %s', (a, b, expected) => {
  expect(areTogether(rpmFormat, a, b)).toBe(expected)
})
