// What counts as installable in each format, and the sentences of causes.
import { describe, expect, test } from 'vitest'
import type { ComparisonOperator, Relation, Requirement } from '../../domain/package.ts'
import { apkFormat } from '../apk/index.ts'
import { debFormat } from '../deb/index.ts'
import { rpmFormat } from '../rpm/index.ts'
import { createUniverse, type UniverseFormat } from './universe.ts'

/** `name version: kind relation | relation, kind relation; provided, provided=version`; `kind (…)` is boolean. */
function packageOf(text: string) {
  const [head = '', provided = ''] = text.split(';')
  const [identity = '', stated = ''] = head.split(/:(.*)/)
  const [name = '', version = '1', arch = 'own'] = identity.trim().split(' ')
  const relation = (one: string): Relation => {
    const [, named = '', op, bound] = /^([^<>=]+)(?:([<>=]+)(.+))?$/.exec(one.trim()) ?? []
    return op && bound ? { name: named, op: op as ComparisonOperator, version: bound } : { name: named }
  }
  const requirements = stated
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .map((one): Requirement => {
      const [, kind = '', rest = ''] = /^(\S+) (.*)$/.exec(one) ?? []
      const strong = ['depends', 'depend', 'requires'].includes(kind)
      if (rest.startsWith('(')) return { kind, strong: false, anyOf: [{ name: 'x' }], text: rest, whole: rest }
      return { kind, strong, anyOf: rest.split('|').map(relation), text: rest }
    })
  const provides = provided
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .map((one) => {
      const [capability = '', of] = one.split('=')
      return of === undefined ? { name: capability } : { name: capability, version: of }
    })
  return { name, version, arch, requirements, provides }
}

function check(format: UniverseFormat, texts: readonly string[]) {
  const universe = createUniverse(format, { own: ['own'], neutral: ['all'] })
  const all = texts.map((text) => universe.add(packageOf(text)))
  return { universe, all, result: universe.check(all) }
}

/** Those that cannot be installed, by name and version. */
function impossible(format: UniverseFormat, texts: readonly string[]): string[] {
  const { universe, all, result } = check(format, texts)
  return all
    .filter((index) => result.answerOf(index) !== 'possible')
    .map(universe.identityOf)
    .map(({ name, version }) => `${name} ${version}`)
}

test('a cause names the packages that are here and held, and they count for nothing', () => {
  const universe = createUniverse(debFormat, { own: ['own'], neutral: ['all'] })
  const [a, old, held, other] = ['a 1: depends b>=2', 'b 1', 'b 2', 'c 1:; b=3'].map((text) =>
    universe.add(packageOf(text)),
  )
  const isLeftOut = (index: number) => index === held || index === other
  const result = universe.check([a!, old!], isLeftOut, undefined, (index) =>
    index === held ? 'quarantined' : index === other ? 'pending_review' : null,
  )
  expect(result.answerOf(a!)).toBe('impossible')
  expect(result.explain(a!)).toMatchObject([
    {
      held: [
        { name: 'b', version: '2', status: 'quarantined' },
        { name: 'c', status: 'pending_review' },
      ],
      sentence: expect.stringMatching(/; b 2 is here, quarantined, c 1 is here, held for review$/),
    },
  ])
  expect(universe.check([a!], isLeftOut).explain(a!)).toMatchObject([
    { sentence: expect.stringMatching(/; only b 1 exists$/) },
  ])
})

describe('deb', () => {
  test.each<[string, string[], string[]]>([
    ['a missing name', ['a 1: depends b'], ['a 1']],
    ['a version that matches', ['a 1: depends b>=2', 'b 2'], []],
    ['a version that does not match', ['a 1: depends b>=2', 'b 1'], ['a 1']],
    ['one of two alternatives', ['a 1: depends b | c', 'c 1'], []],
    ['a provide without a version, for a relation with one', ['a 1: depends v>=1', 'b 1:; v'], ['a 1']],
    ['a provide with a version', ['a 1: depends v>=1', 'b 1:; v=1'], []],
    ['a package for all architectures', ['a 1: depends b', 'b 1 all'], []],
    ['a package of another architecture', ['a 1: depends b', 'b 1 other'], ['a 1']],
    ['two needs that exclude each other', ['a 1: depends b, depends c', 'b 1: breaks c', 'c 1'], ['a 1']],
    ['an alternative beside an excluded one', ['a 1: depends b | d, depends c', 'b 1: conflicts c', 'c 1', 'd 1'], []],
    ['an exclusion of an older version', ['a 1: depends b, depends c', 'b 1: conflicts c<2', 'c 1', 'c 2'], []],
    ['an exclusion of what it provides itself', ['a 1: conflicts v; v', 'b 1:; v'], []],
    ['two versions of one name', ['a 1: depends b=1, depends c', 'c 1: depends b=2', 'b 1', 'b 2'], ['a 1']],
    ['a circle', ['a 1: depends b', 'b 1: depends a'], []],
    ['a weak relation', ['a 1: recommends b'], []],
    ['what needs something impossible', ['a 1: depends b', 'b 1: depends c'], ['a 1', 'b 1']],
  ])('%s', (_, texts, expected) => {
    expect(impossible(debFormat, texts)).toEqual(expected)
  })
})

describe('rpm', () => {
  test.each<[string, string[], string[]]>([
    ['a provide without a version meets any', ['a 1: requires v>=1', 'b 1:; v'], []],
    ['an obsoleted package excludes', ['a 1: requires b, requires c', 'b 1: obsoletes c<2', 'c 1'], ['a 1']],
    ['Obsoletes are about names, not provides', ['a 1: requires b, requires v', 'b 1: obsoletes v', 'c 1:; v'], []],
    ['Conflicts are about provides too', ['a 1: requires b, requires v', 'b 1: conflicts v', 'c 1:; v'], ['a 1']],
    ['(b if c) counts when c is chosen', ['a 1: requires (b if c), requires c', 'c 1'], ['a 1']],
    ['(b if c) does not count without c', ['a 1: requires (b if c)', 'c 1'], []],
    ['(b if c else d) needs d without c', ['a 1: requires (b if c else d)', 'b 1', 'd 1: conflicts b'], []],
    ['(b if c else d) fails without c and d', ['a 1: requires (b if c else d)', 'b 1'], ['a 1']],
    ['(v with w) needs one package', ['a 1: requires (v with w)', 'b 1:; v', 'c 1:; w'], ['a 1']],
    ['(v without w) leaves out packages', ['a 1: requires (v without w)', 'b 1:; v, w'], ['a 1']],
    ['((b and c) or d) takes d', ['a 1: requires ((b and c) or d)', 'b 1', 'd 1'], []],
    ['(b and c) excludes both together', ['a 1: conflicts (b and c), requires b, requires c', 'b 1', 'c 1'], ['a 1']],
    ['(b unless c) excludes b without c', ['a 1: conflicts (b unless c), requires b', 'b 1'], ['a 1']],
    ['(b unless c) allows b with c', ['a 1: conflicts (b unless c), requires b', 'b 1', 'c 1'], []],
    ['a weak boolean relation does not count', ['a 1: recommends (b and c)'], []],
  ])('%s', (_, texts, expected) => {
    expect(impossible(rpmFormat, texts)).toEqual(expected)
  })
})

describe('apk', () => {
  test.each<[string, string[], string[]]>([
    ['a conflict excludes', ['a 1: depend b, conflict b', 'b 1'], ['a 1']],
    [
      'names provided with a version exclude each other',
      ['a 1: depend b, depend c', 'b 1:; v=1', 'c 1:; v=2'],
      ['a 1'],
    ],
    ['names provided without a version do not', ['a 1: depend b, depend c', 'b 1:; v', 'c 1:; v'], []],
    ['a package excludes one that provides its name', ['a 1: depend b<2, depend c', 'b 1', 'c 1:; b=2'], ['a 1']],
    ['a version that begins alike', ['a 1: depend b=~1.2', 'b 1.2.5'], []],
    ['a version that begins otherwise', ['a 1: depend b=~1.2', 'b 1.3'], ['a 1']],
  ])('%s', (_, texts, expected) => {
    expect(impossible(apkFormat, texts)).toEqual(expected)
  })
})

test('a cause names each step, from the package outwards', () => {
  const { result } = check(debFormat, [
    'app 1: depends lib>=2, depends tool',
    'lib 1',
    'tool 1: depends old | older',
    'old 1: depends lib=1',
    'other 1: depends app',
  ])
  const sentences = (index: number) => result.explain(index).map(({ sentence }) => sentence)
  expect(sentences(0)).toEqual(['app 1 needs lib>=2; only lib 1 exists'])
  expect(sentences(4)).toEqual(['other 1 needs app: app 1', 'app 1 needs lib>=2; only lib 1 exists'])
})

test('a cause with a boolean dependency names it', () => {
  const { result } = check(rpmFormat, ['a 1: requires (b if c), requires c', 'c 1'])
  expect(result.explain(0)).toMatchObject([
    { kind: 'needs', package: { name: 'a' }, relation: '(b if c)' },
    { kind: 'needs', package: { name: 'a' }, relation: 'c', candidates: [{ name: 'c' }] },
    { kind: 'excludes', package: null, relation: '(b if c)', excluded: { name: 'c' } },
  ])
})

test('packages that are left out count as missing', () => {
  const universe = createUniverse(debFormat, { own: ['own'], neutral: ['all'] })
  const [a, b] = ['a 1: depends b', 'b 1'].map((text) => universe.add(packageOf(text))) as [number, number]
  expect(universe.check([a]).answerOf(a)).toBe('possible')
  expect(universe.check([a], (index) => index === b).answerOf(a)).toBe('impossible')
})
