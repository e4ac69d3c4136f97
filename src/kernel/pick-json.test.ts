import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { pickJson, type Wanted } from './pick-json.ts'

/** Everything in pieces of a size, so that each boundary of bytes is tried. */
async function pick(text: string, want: (path: readonly string[]) => Wanted, size = 7, mostBytes = 10_000) {
  const bytes = Buffer.from(text)
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  const values: [string, unknown][] = []
  let streamed = ''
  for await (const picked of pickJson(pieces(), want, mostBytes)) {
    if ('piece' in picked) streamed += picked.piece.toString()
    else values.push([picked.path.join('.'), picked.value])
  }
  return { values, streamed }
}

const BODY = JSON.stringify({
  name: 'a "name"\n',
  skipped: { deep: [1, { name: 'no' }, '}]"'], data: 'not this' },
  versions: { '1.0.0': { dist: { tarball: 'x' } }, 'é\\': [true, -1.5e3] },
  _attachments: { 'x.tgz': { data: 'QUJD'.repeat(20), length: 60 } },
})
const wanted = (path: readonly string[]): Wanted => {
  if (path.length === 1) return path[0] === 'name' ? 'whole' : path[0] === 'skipped' ? 'nothing' : 'inside'
  if (path.length === 2) return path[0] === 'versions' ? 'whole' : 'inside'
  return path[2] === 'data' ? 'pieces' : 'whole'
}

test.each([1, 2, 3, 5, 64, 10_000])('values are picked from pieces of %i bytes', async (size) => {
  expect(await pick(BODY, wanted, size)).toEqual({
    values: [
      ['name', 'a "name"\n'],
      ['versions.1.0.0', { dist: { tarball: 'x' } }],
      ['versions.é\\', [true, -1500]],
      ['_attachments.x.tgz.length', 60],
    ],
    streamed: 'QUJD'.repeat(20),
  })
})

test('any value is picked as JSON.parse reads it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.integer({ min: 1, max: 40 }), fc.boolean(), async (value, size, spaced) => {
      const text = JSON.stringify({ before: [value], it: value, after: { value } }, null, spaced ? 2 : 0)
      const { values } = await pick(text, ([key]) => (key === 'it' ? 'whole' : 'inside'), size, 1_000_000)
      expect(values).toEqual([['it', JSON.parse(JSON.stringify(value)) as unknown]])
    }),
  )
})

test('indexes of lists are keys', async () => {
  const { values } = await pick('{"a":[{"b":1},{"b":2}]}', (path) => (path.length === 3 ? 'whole' : 'inside'))
  expect(values).toEqual([
    ['a.0.b', 1],
    ['a.1.b', 2],
  ])
})

describe('a text is refused', () => {
  test.each([
    ['empty', ''],
    ['cut off in an object', '{"a":1'],
    ['cut off in a text', '{"a":"b'],
    ['with a comma too many', '{"a":1,}'],
    ['with a comma too many in a list', '{"a":[1,]}'],
    ['with the wrong bracket', '{"a":[1}}'],
    ['with something behind', '{}{}'],
    ['without a colon', '{"a" 1}'],
    ['with a key that is no text', '{a:1}'],
    ['with a picked value that is none', '{"it":tru}'],
    ['too deep', '{"a":' + '['.repeat(70)],
    ['with a long key', `{"${'k'.repeat(5000)}":1}`],
  ])('%s', async (_, text) => {
    const want = ([key]: readonly string[]): Wanted => (key === 'it' ? 'whole' : 'nothing')
    await expect(pick(text, want)).rejects.toMatchObject({ code: 'validation_error' })
  })
  test('when the picked values are larger than is allowed, however they are split', async () => {
    const text = JSON.stringify({ a: 'x'.repeat(60), b: 'x'.repeat(60) })
    await expect(pick(text, () => 'whole', 10, 100)).rejects.toMatchObject({ code: 'validation_error' })
    expect((await pick(text, () => 'whole', 10, 200)).values).toHaveLength(2)
  })
})
