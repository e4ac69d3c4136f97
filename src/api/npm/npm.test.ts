import semver from 'semver'
import { describe, expect, test } from 'vitest'
import type { RangeEvent } from '../../domain/advisory.ts'
import { rangeOf } from './npm-advisory.ts'
import { readPublication } from './publication.ts'
import { prefersShort } from './reading.ts'

test.each([
  ['application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*', true],
  ['application/vnd.npm.install-v1+json', true],
  ['Application/VND.npm.install-v1+JSON;q=0.5', true],
  ['application/json, application/vnd.npm.install-v1+json; q=0.8', false],
  ['application/vnd.npm.install-v1+json; q=0', false],
  ['application/json', false],
  ['*/*', false],
  [undefined, false],
])('Accept: %s gets the abbreviated form: %s', (accept, isShort) => expect(prefersShort(accept)).toBe(isShort))

describe('the range of an advisory', () => {
  test.each<[RangeEvent[], string, string[], string[]]>([
    [[{ introduced: '0' }, { fixed: '1.2.0' }], '<1.2.0', ['0.1.0', '1.2.0-rc'], ['1.2.0', '2.0.0']],
    [[{ introduced: '1.0.0' }, { fixed: '1.2.0' }], '>=1.0.0 <1.2.0', ['1.0.0', '1.1.9'], ['0.9.0', '1.2.0']],
    [[{ introduced: '1.0.0' }, { last_affected: '1.2.0' }], '>=1.0.0 <=1.2.0', ['1.2.0'], ['1.2.1']],
    [[{ introduced: '0' }], '*', ['0.0.1', '9.0.0-a'], []],
    [
      [{ introduced: '1.0.0' }, { fixed: '1.1.0' }, { introduced: '2.0.0' }, { fixed: '2.1.0' }],
      '>=1.0.0 <1.1.0 || >=2.0.0 <2.1.0',
      ['1.0.5', '2.0.5'],
      ['1.5.0', '2.1.0'],
    ],
    [[{ introduced: '3.0.0' }], '>=3.0.0', ['3.0.0'], ['2.9.9']],
  ])('%j is %s', (events, range, inside, outside) => {
    expect(rangeOf({ ranges: [{ type: 'SEMVER', events }], versions: [] })).toBe(range)
    const isIn = (version: string) => semver.satisfies(version, range, { includePrerelease: true })
    expect([inside.map(isIn), outside.map(isIn)]).toEqual([inside.map(() => true), outside.map(() => false)])
  })
  test.each([
    [['1.0.0', '1.0.1'], '1.0.0 || 1.0.1'],
    [[], '<0.0.0'],
  ])('of the versions %j is %s', (versions, range) => expect(rangeOf({ ranges: [], versions })).toBe(range))
})

describe('the body of a publish', () => {
  async function read(text: string, size: number) {
    async function* pieces() {
      for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size))
    }
    const { said, tarball } = await readPublication(pieces())
    const bytes: Uint8Array[] = []
    for await (const piece of tarball ?? []) bytes.push(piece)
    return { said, content: tarball && Buffer.concat(bytes).toString() }
  }
  const attached = {
    'lib-1.0.0.tgz': { data: Buffer.from('the tarball').toString('base64') },
    'lib-1.0.0.sigstore': { data: '{"a":1}' },
  }
  const versions = {
    '1.0.0': { name: 'lib', version: '1.0.0', deprecated: 'old', dist: { shasum: 'aa', x: 1 }, y: {} },
  }
  const body = { _id: 'lib', name: 'lib', 'dist-tags': { latest: '1.0.0' }, versions, readme: '"}' }

  test.each([1, 2, 3, 7, 1000])('is read in pieces of %i, in any order', async (size) => {
    const said = {
      names: ['lib', 'lib'],
      tags: new Map([['latest', '1.0.0']]),
      versions: new Map([['1.0.0', { name: 'lib', version: '1.0.0', deprecated: 'old', shasum: 'aa' }]]),
      bundles: ['{"a":1}'],
    }
    for (const sent of [
      { ...body, _attachments: attached },
      { _attachments: attached, ...body },
    ])
      expect(await read(JSON.stringify(sent), size)).toEqual({ said, content: 'the tarball' })
    expect(await read(JSON.stringify(body), size)).toEqual({ said: { ...said, bundles: [] }, content: null })
  })

  test.each<[string, object]>([
    ['two files', { _attachments: { ...attached, 'b.tgz': { data: 'QUJD' } } }],
    ['a file that is not base64', { _attachments: { 'a.tgz': { data: 'Q!' } } }],
    ['a file that is cut off', { _attachments: { 'a.tgz': { data: 'QUJDR' } } }],
    ['an escape in a file', { _attachments: { 'a.tgz': { data: 'QU\nJD' } } }],
    ['a tag that is no text', { 'dist-tags': { latest: 1 } }],
    ['a message with a NUL', { versions: { '1.0.0': { deprecated: '\0' } } }],
  ])('with %s is refused', async (_, more) => {
    await expect(read(JSON.stringify({ ...body, ...more }), 5)).rejects.toMatchObject({ code: 'validation_error' })
  })

  test('leaves a bundle of Sigstore out', async () => {
    const bundle = { 'lib-1.0.0.sigstore': { data: '{"not": "base64"}' } }
    const { content } = await read(JSON.stringify({ ...body, _attachments: { ...bundle, ...attached } }), 50)
    expect(content).toBe('the tarball')
  })
})
