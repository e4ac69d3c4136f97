// The installability thread accepts only as much input as keeps it below its heap limit.
import { expect, test } from 'vitest'
import { formatOf } from '../index.ts'
import type { PackageTuple } from './messages.ts'
import { withChecker, type Limits } from './checker.ts'

const page = (count: number, from = 0) =>
  JSON.stringify(
    Array.from({ length: count }, (_, n): PackageTuple => [
      `name-${from + n}`,
      '1.0',
      'amd64',
      null,
      [],
      [{ name: 'a' }],
    ]),
  )
const WIDE: Limits = { packages: 1000, relations: 1000, characters: 1_000_000, pageCharacters: 1_000_000 }
const fill = (limits: Limits, pages: readonly string[]) =>
  withChecker(
    formatOf('deb'),
    'amd64',
    async (checker) => {
      for (const one of pages) await checker.add('distribution', one)
      return (await checker.check(10)).total
    },
    undefined,
    { limits },
  )

test('as many packages as are allowed are searched', async () => {
  expect(await fill({ ...WIDE, packages: 20 }, [page(10), page(10, 10)])).toBe(20)
})

test.each<[string, Limits]>([
  ['packages', { ...WIDE, packages: 19 }],
  ['relations', { ...WIDE, relations: 19 }],
  ['characters of all pages', { ...WIDE, characters: page(10).length * 2 }],
  ['characters of one page', { ...WIDE, pageCharacters: page(10).length - 1 }],
])('more %s are refused with a sentence', async (_, limits) => {
  await expect(fill(limits, [page(10), page(10, 10)])).rejects.toMatchObject({
    code: 'validation_error',
    detail: expect.stringContaining('too many to search'),
  })
})
