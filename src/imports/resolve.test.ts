// Which packages the closure of requirements takes from a catalog.
import { describe, expect, test } from 'vitest'
import type { Requirement } from '../domain/package.ts'
import type { FormatId } from '../../test/formats.ts'
import { formatOf } from '../formats/index.ts'
import { resolve, type Candidate, type PublishedOffer } from './resolve.ts'

interface Sample {
  name: string
  version?: string
  arch?: string
  /** alternatives separated by `|`, each `name [op version]` */
  needs?: string[]
  /** `name [= version]` */
  provides?: string[]
  /** published, and a package of the catalog takes its place */
  replaceable?: boolean
}

const RELEASES: Record<FormatId, (version: string) => string> = {
  deb: (version) => version,
  rpm: (version) => `${version}-1`,
  apk: (version) => `${version}-r0`,
}

function targetOf(id: FormatId) {
  const format = formatOf(id)
  return { format, distribution: format.distributions[0]! }
}

function candidateOf(id: FormatId, { name, version = '1', arch, needs = [], provides = [] }: Sample): Candidate {
  const { distribution } = targetOf(id)
  const release = RELEASES[id]
  const relation = (text: string) => {
    const [named = '', op, wanted] = text.trim().split(' ')
    return { name: named, ...(op && wanted ? { op: op as '>=', version: release(wanted) } : {}) }
  }
  return {
    ...{ source_id: 1, path: `${name}-${version}`, name, version: release(version), size_bytes: 1 },
    arch: arch ?? distribution.architectures[0]!,
    requirements: needs.map((text): Requirement => ({
      kind: 'depends',
      strong: true,
      text,
      anyOf: text.split('|').map(relation),
    })),
    provides: provides.map((text) => {
      const { name: provided, version: at } = relation(text)
      return { name: provided, ...(at ? { version: at } : {}) }
    }),
  }
}

async function closure(id: FormatId, root: Sample, catalog: Sample[], published: Sample[] = []) {
  const rows = [root, ...catalog].map((sample) => candidateOf(id, sample))
  const there = published.map((sample) => ({ ...candidateOf(id, sample), replaceable: sample.replaceable ?? false }))
  const queries = { published: 0, candidates: 0 }
  const { needed, missing } = await resolve([rows[0]!], targetOf(id), {
    published: async (names) => {
      queries.published++
      const found = new Map<string, PublishedOffer[]>()
      for (const { name, version, arch, provides, replaceable } of there)
        for (const offer of [{ name, version }, ...provides])
          if (names.includes(offer.name))
            found.set(offer.name, [
              ...(found.get(offer.name) ?? []),
              { version: offer.version ?? null, arch, package: name, replaceable },
            ])
      return found
    },
    candidates: async (names) => {
      queries.candidates++
      return rows.filter((row) => [row, ...row.provides].some(({ name }) => names.includes(name)))
    },
  })
  return {
    needed: needed.slice(1).map(({ candidate }) => candidate.path),
    missing: missing.map(({ text }) => text),
    queries,
  }
}

const app = (...needs: string[]): Sample => ({ name: 'app', needs })

describe.each(Object.keys(RELEASES) as FormatId[])('%s', (format) => {
  test.each<
    [string, { root: Sample; catalog?: Sample[]; published?: Sample[]; needed?: string[]; missing?: string[] }]
  >([
    ['nothing is needed', { root: app() }],
    [
      'a package that is published is not needed',
      { root: app('lib'), catalog: [{ name: 'lib' }], published: [{ name: 'lib' }] },
    ],
    [
      'a published package that is too old is replaced',
      {
        ...{
          root: app('lib >= 2'),
          catalog: [{ name: 'lib', version: '2' }],
          published: [{ name: 'lib' }],
          needed: ['lib-2'],
        },
      },
    ],
    [
      'a replaceable package makes room for the newest one',
      {
        ...{ root: app('lib'), catalog: [{ name: 'lib', version: '2' }], needed: ['lib-2'] },
        published: [{ name: 'lib', replaceable: true }],
      },
    ],
    [
      'a replaceable package meets what no catalog meets',
      {
        ...{ root: app('lib < 2'), catalog: [{ name: 'lib', version: '2' }] },
        published: [{ name: 'lib', replaceable: true }],
      },
    ],
    [
      'the newest version is taken, in the order of the format',
      {
        ...{
          root: app('lib'),
          catalog: ['1.9', '1.10', '1.2'].map((version) => ({ name: 'lib', version })),
          needed: ['lib-1.10'],
        },
      },
    ],
    [
      'a version bound from above is kept',
      {
        ...{
          root: app('lib < 2'),
          catalog: ['1', '3'].map((version) => ({ name: 'lib', version })),
          needed: ['lib-1'],
        },
      },
    ],
    [
      'the first alternative that exists is taken',
      {
        ...{ root: app('absent | b | c'), catalog: [{ name: 'b' }, { name: 'c' }], needed: ['b-1'] },
      },
    ],
    [
      'a published alternative comes before one to download',
      {
        ...{ root: app('a | b'), catalog: [{ name: 'a' }, { name: 'b' }], published: [{ name: 'b' }] },
      },
    ],
    [
      'an alternative that another requirement brings is enough',
      {
        ...{ root: app('b', 'a | b'), catalog: [{ name: 'a' }, { name: 'b' }], needed: ['b-1'] },
      },
    ],
    [
      'a provide meets a requirement without a version',
      {
        ...{ root: app('virtual'), catalog: [{ name: 'real', provides: ['virtual'] }], needed: ['real-1'] },
      },
    ],
    [
      'a provide meets a version only when it states one that fits',
      {
        ...{ root: app('virtual >= 3'), needed: ['z-new-1'] },
        catalog: [
          { name: 'b-old', provides: ['virtual = 2'] },
          { name: 'z-new', provides: ['virtual = 3'] },
        ],
      },
    ],
    [
      'a package of the name comes before one that provides it',
      {
        ...{ root: app('lib'), catalog: [{ name: 'a', provides: ['lib'] }, { name: 'lib' }], needed: ['lib-1'] },
      },
    ],
    [
      'a file is provided by its path',
      {
        ...{
          root: app('/usr/bin/tool'),
          catalog: [{ name: 'tools', provides: ['/usr/bin/tool'] }],
          needed: ['tools-1'],
        },
      },
    ],
    [
      'requirements of requirements are followed, breadth first, also in a circle',
      {
        ...{ root: app('a', 'b'), needed: ['a-1', 'b-1', 'c-1'] },
        catalog: [
          { name: 'a', needs: ['c'] },
          { name: 'b', needs: ['a'] },
          { name: 'c', needs: ['app'] },
        ],
      },
    ],
    ['what a package provides itself is not needed', { root: { name: 'app', needs: ['own'], provides: ['own'] } }],
    [
      'what nobody has is missing, once',
      {
        ...{
          root: app('nothing', 'a'),
          catalog: [{ name: 'a', needs: ['nothing'] }],
          needed: ['a-1'],
          missing: ['nothing'],
        },
      },
    ],
    [
      'a package of another architecture does not count',
      {
        ...{ root: app('lib'), catalog: [{ name: 'lib', arch: 'riscv64' }], missing: ['lib'] },
      },
    ],
  ])('%s', async (_, { root, catalog = [], published = [], needed = [], missing = [] }) => {
    const found = await closure(format, root, catalog, published)
    expect(found).toMatchObject({ needed, missing })
  })

  test('a level costs two queries, whatever it holds', async () => {
    const many = Array.from({ length: 300 }, (_, i) => ({ name: `lib${i}`, needs: ['base'] }))
    const { needed, queries } = await closure(format, app(...many.map(({ name }) => name)), [...many, { name: 'base' }])
    expect(needed).toHaveLength(301)
    expect(queries).toEqual({ published: 2, candidates: 2 })
  })
})
