// Which versions exceed the number that a distribution keeps.
import { expect, test } from 'vitest'
import { DAY_MS } from '../../domain/durations.ts'
import { formats } from '../../formats/index.ts'
import { surplusVersions, type PublishedVersion } from './surplus-versions.ts'

const NOW = Date.parse('2026-03-10T00:00:00Z')

/** `name version arch days`, in the order of arrival. */
const records = (lines: string[]): PublishedVersion[] =>
  lines.map((line, index) => {
    const [name = '', version = '', arch = '', days = ''] = line.split(' ')
    return { id: index + 1, name, version, arch, importedAt: new Date(NOW - Number(days) * DAY_MS) }
  })

const compareIn = (format: string) => formats.find(({ id }) => id === format)!.versions.compare

test.each<[string, string, number, string[], string[]]>([
  ['keeps the newest by the order of deb', 'deb', 2, ['a 1.9 x 30', 'a 1.10 x 30', 'a 1:0.1 x 30'], ['1.9 x']],
  ['puts a deb pre-release before its release', 'deb', 1, ['a 1.0 x 30', 'a 1.0~rc1 x 30'], ['1.0~rc1 x']],
  ['keeps the newest by the order of rpm', 'rpm', 1, ['a 1.0^git1-1 x 30', 'a 1.0-1 x 30'], ['1.0-1 x']],
  [
    'keeps the newest by the order of apk',
    'apk',
    1,
    ['a 1.0-r2 x 30', 'a 1.0-r10 x 30', 'a 1.0_rc1-r0 x 30'],
    ['1.0_rc1-r0 x', '1.0-r2 x'],
  ],
  ['returns the oldest first', 'deb', 1, ['a 3 x 30', 'a 1 x 30', 'a 2 x 30'], ['1 x', '2 x']],
  ['counts each architecture by itself', 'deb', 1, ['a 1 x 30', 'a 2 x 30', 'a 1 y 30'], ['1 x']],
  ['counts each name by itself', 'deb', 1, ['a 1 x 30', 'b 2 x 30'], []],
  ['keeps the last one', 'deb', 1, ['a 1 x 3000'], []],
  ['keeps the last one when 0 are to be kept', 'deb', 0, ['a 1 x 3000', 'a 2 x 3000'], ['1 x']],
  ['keeps young versions', 'deb', 1, ['a 1 x 6', 'a 2 x 8', 'a 3 x 0'], ['2 x']],
  ['keeps one that is exactly as old as versions must be', 'deb', 1, ['a 1 x 7', 'a 3 x 0'], []],
  ['keeps fewer than allowed', 'deb', 5, ['a 1 x 30', 'a 2 x 30'], []],
  ['takes the first arrival of equal versions for the older', 'deb', 1, ['a 1.0-0 x 30', 'a 1.0 x 30'], ['1.0-0 x']],
])('%s', (_, format, keep, lines, gone) => {
  const rule = { keep, before: new Date(NOW - 7 * DAY_MS), compare: compareIn(format) }
  expect(surplusVersions(records(lines), rule).map(({ version, arch }) => `${version} ${arch}`)).toEqual(gone)
})
