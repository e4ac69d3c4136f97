import { describe, expect, it } from 'vitest'
import { bin, i18n, int32, numbers, renderHeader, string, strings } from '../../../test/samples/rpm.ts'
import { headerLength, parseHeader } from './header.ts'

const MAGIC = Buffer.from('8eade80100000000', 'hex')
const REGION = [63, 7, 48, 16]

/** A header of given index entries over 48 bytes of zeros and the region's trailer. */
function header(...entries: number[][]): Buffer {
  const index = entries.map((entry) => numbers(...entry))
  const trailer = numbers(63, 7, -16 * entries.length, 16)
  return Buffer.concat([MAGIC, numbers(entries.length, 64), ...index, Buffer.alloc(48), trailer])
}

describe('an rpm header', () => {
  it('returns the values of its tags, and nothing for missing ones', () => {
    const parsed = parseHeader(
      renderHeader(63, {
        1000: string('name'),
        1004: i18n('eins'),
        1028: int32(1, 2 ** 31 - 1),
        1030: { type: 'int16', values: [0o100644] },
        1117: strings('a', '', 'b'),
        1146: bin(Buffer.from('x')),
        5009: { type: 'int64', values: [5_000_000_000] },
      }),
      63,
      true,
    )
    expect(parsed.text(1000)).toBe('name')
    expect(parsed.text(1004)).toBe('eins')
    expect(parsed.numbers(1028, 2)).toEqual([1, 2 ** 31 - 1])
    expect(parsed.number(1030)).toBe(0o100644)
    expect(parsed.texts(1117, 3)).toEqual(['a', '', 'b'])
    expect(parsed.textsBetween(1117, 1, 2)).toEqual([''])
    expect(parsed.data(1146)).toEqual(Buffer.from('x'))
    expect(parsed.number(5009)).toBe(5_000_000_000)
    expect([parsed.text(1), parsed.number(1), parsed.data(1), parsed.texts(1, 9), parsed.count(1)]).toEqual([
      null,
      null,
      null,
      [],
      0,
    ])
    expect(() => parsed.texts(1117, 2)).toThrow(/too many items/)
    expect(() => parsed.number(1000)).toThrow(/wrong type/)
    expect(() => parsed.text(1028)).toThrow(/wrong type/)
  })

  it('decodes each text as UTF-8, or else as Latin-1', () => {
    const parsed = parseHeader(renderHeader(63, { 1117: strings(Buffer.from([0xe9]), 'é') }), 63, true)
    expect(parsed.texts(1117, 2)).toEqual(['é', 'é'])
  })

  it('requires that entries follow each other up to the trailer', () => {
    expect(
      parseHeader(header(REGION, [1000, 4, 0, 4], [1001, 8, 16, 30], [1002, 6, 46, 1], [1003, 2, 47, 1]), 63, true)
        .entries,
    ).toHaveLength(4)
  })

  it.each<[string, Buffer]>([
    ['no region', header([1000, 4, 0, 1])],
    ['the region of another header', renderHeader(62, { 1000: string('x') })],
    ['a region outside the data', header([63, 7, 64, 16])],
    ['a region of another size', header([63, 7, 48, 17])],
    ['a region of another type', header([63, 6, 48, 16])],
    [
      'a region before the end of the data',
      Buffer.concat([MAGIC, numbers(1, 24, 63, 7, 0, 16), numbers(63, 7, -16, 16), Buffer.alloc(8)]),
    ],
    [
      'entries outside the region',
      Buffer.concat([MAGIC, numbers(2, 20, 63, 7, 4, 16, 1000, 4, 0, 1, 0), numbers(63, 7, -16, 16)]),
    ],
    ['a type that does not exist', header(REGION, [1000, 10, 0, 1])],
    ['no type', header(REGION, [1000, 0, 0, 1])],
    ['an offset that is not aligned', header(REGION, [1000, 4, 2, 1])],
    ['a negative offset', header(REGION, [1000, 4, -4, 1])],
    ['no items', header(REGION, [1000, 4, 0, 0])],
    ['more items than data', header(REGION, [1000, 4, 0, 1 << 30])],
    ['data in the trailer', header(REGION, [1000, 4, 48, 1])],
    ['data that overlap', header(REGION, [1000, 4, 0, 2], [1001, 4, 4, 1])],
    ['two texts in a type of one', header(REGION, [1000, 6, 0, 2])],
    ['more texts than NULs', header(REGION, [1000, 8, 0, 49])],
    ['a tag below 100', header(REGION, [61, 4, 0, 1])],
  ])('is damaged with %s', (_, bytes) => {
    expect(() => parseHeader(bytes, 63, true)).toThrow(/header is damaged/)
  })

  it('is refused when it has a tag twice, since readers differ in which one counts', () => {
    expect(() => parseHeader(header(REGION, [1000, 4, 0, 1], [1000, 4, 4, 1]), 63, true)).toThrow(/tag twice/)
  })

  it('may lack a region when it holds signatures, as in old packages', () => {
    expect(parseHeader(renderHeader(null, { 1000: int32(7) }), 62, false).number(1000)).toBe(7)
  })

  it.each<[string, Buffer]>([
    ['four billion entries', Buffer.concat([MAGIC, numbers(-1, 0)])],
    ['more entries than rpm takes', Buffer.concat([MAGIC, numbers(65_536, 0)])],
    ['four billion bytes', Buffer.concat([MAGIC, numbers(1, -1)])],
    ['no entries', Buffer.concat([MAGIC, numbers(0, 0)])],
  ])('is refused at once with %s', (_, intro) => {
    expect(() => headerLength(intro, 64 * 1024 ** 2)).toThrow(/too large/)
  })
})
