import { describe, expect, it } from 'vitest'
import type { Capability, Relation } from '../domain/package.ts'
import { versions } from './deb/versions.ts'
import { holds, unsatisfied, type Offers } from './dependencies.ts'

const relation = (text: string): Relation => {
  const [name = '', op, version] = text.split(' ')
  return op === undefined ? { name } : { name, op: op as Relation['op'], version }
}

/** The texts of what is missing for a package `self` 1.0 with these requirements. */
function missing(
  depends: string[],
  offers: Offers,
  {
    provides = [],
    files = [],
    strong = true,
    order = versions,
  }: {
    provides?: Capability[]
    files?: string[]
    strong?: boolean
    order?: Parameters<typeof unsatisfied>[2]
  } = {},
): string[] {
  const requirements = depends.map((text) => ({
    kind: 'depends',
    strong,
    anyOf: text.split(' | ').map(relation),
    text,
  }))
  const facts = { name: 'self', version: '1.0', provides, files, requirements }
  return unsatisfied(facts, offers, order).map((requirement) => requirement.text)
}

const offers: Offers = new Map([
  ['lib', [{ version: '1.9' }, { version: '2.10' }]],
  ['virtual', [{ version: null }]],
  ['versioned-virtual', [{ version: null }, { version: '3' }]],
])

describe('unsatisfied', () => {
  it.each<[string, boolean]>([
    ['lib', true],
    ['lib >= 2.9', true],
    ['lib > 2.10', false],
    ['lib < 1.9', false],
    ['lib <= 1.9', true],
    ['lib = 2.0', false],
    ['nothing', false],
    ['nothing | lib', true],
    ['nothing | lib = 7', false],
    ['virtual', true],
    ['virtual >= 0', false],
    ['versioned-virtual >= 3', true],
    ['versioned-virtual > 3', false],
    ['self', true],
    ['self = 1.0', true],
    ['self > 1.0', false],
    ['mine', true],
    ['mine = 1', false],
    ['/usr/bin/tool', true],
    ['/usr/bin/other', false],
  ])('answers for %j: %s', (text, met) => {
    const found = missing([text], offers, { provides: [{ name: 'mine' }], files: ['usr/bin/tool'] })
    expect(found).toEqual(met ? [] : [text])
  })

  it('keeps the order, and ignores weak relations', () => {
    expect(missing(['b', 'lib', 'a'], offers)).toEqual(['b', 'a'])
    expect(missing(['b', 'a'], offers, { strong: false })).toEqual([])
  })

  it('uses the rule of a format that has one', () => {
    const order = {
      compare: versions.compare,
      meets: (offered: string | null, op: '<' | '<=' | '=' | '>=' | '>', wanted: string) =>
        offered === null || holds(versions.compare(offered, wanted), op),
    }
    expect(missing(['virtual >= 5', 'lib > 9'], offers, { order })).toEqual(['lib > 9'])
  })
})
