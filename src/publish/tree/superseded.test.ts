// Which superseded generations may be removed.
import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { GRACE_MS } from '../../domain/grace.ts'
import { createMeasure, FEWEST, MOST, removableGenerations, type Contents } from './superseded.ts'

const NOW = new Date('2026-03-01T12:00:00.000Z')
const ago = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000)
const GRACE = GRACE_MS / 60_000

test.each([
  ['none is superseded', {}, []],
  ['the last two, however old', { r1: 900, r2: 600 }, []],
  ['older ones within the grace time', { r1: GRACE - 1, r2: 2, r3: 1 }, []],
  ['an older one at the end of the grace time', { r1: GRACE, r2: 2, r3: 1 }, []],
  ['older ones beyond the grace time, oldest first', { r1: 60, r2: 50, r3: 40, r4: 30 }, ['r1', 'r2']],
  ['one that was superseded in a future that a wrong clock made', { r1: -900, r2: -800, r3: -700 }, ['r3']],
  [
    'those of one moment in the order of their revisions',
    { 'r10-': 60, 'r9-': 60, 'r8-': 60, 'r11-': 60 },
    ['r8-', 'r9-'],
  ],
  ['a future within the grace time', { r1: -1, r2: -2, r3: -3 }, []],
])('%s', (_, minutesAgo, expected) => {
  const superseded = Object.entries(minutesAgo).map(([generation, at]) => ({ generation, supersededAt: ago(at) }))
  expect(removableGenerations(superseded, NOW, MOST, () => undefined)).toEqual(expected)
})

/** r1 to r9, one a second, r9 superseded last. */
const NINE = Array.from({ length: 9 }, (_, n) => ({
  generation: `r${n + 1}-`,
  supersededAt: new Date(NOW.getTime() - (9 - n) * 1000),
}))
const own = (generation: string): Contents => new Map([[Number(generation.slice(1, -1)), 10]])
/** Every generation has one separate file, and one file that all of them share. */
const shared = (generation: string): Contents => new Map([...own(generation), [100, 1000]])

test.each([
  ['as many as the bound says stay', { number: 6, bytes: 1e9, leastMs: 0 }, own, [1, 2, 3]],
  ['as many as the bytes allow stay', { number: 99, bytes: 70, leastMs: 0 }, own, [1, 2]],
  ['a file that several have is counted once', { number: 99, bytes: 1070, leastMs: 0 }, shared, [1, 2]],
  ['the last four stay, however large', { number: 0, bytes: 0, leastMs: 0 }, own, [1, 2, 3, 4, 5]],
  ['those of the last seconds stay, however large', { number: 0, bytes: 0, leastMs: 6_500 }, own, [1, 2, 3]],
  ['those that nobody measured count as empty', { number: 99, bytes: 70, leastMs: 0 }, () => undefined, []],
])('within the grace time %s', (_, bound, contentsOf, gone) => {
  expect(removableGenerations(NINE, NOW, bound, contentsOf)).toEqual(gone.map((n) => `r${n}-`))
  expect(NINE.length - gone.length).toBeGreaterThanOrEqual(FEWEST)
})

test('files that the live generation shares cost nothing in older ones', () => {
  const bound = { number: 99, bytes: 70, leastMs: 0 }
  expect(removableGenerations(NINE, NOW, bound, shared, new Map([[100, 1000]]))).toEqual(['r1-', 'r2-'])
})

test('a generation is measured without the packages that it links to', async () => {
  const base = await mkdtemp(join(tmpdir(), 'superseded-'))
  onTestFinished(() => rm(base, { recursive: true }))
  await mkdir(join(base, 'pool'))
  await mkdir(join(base, 'r1-', 'main'), { recursive: true })
  await symlink('../pool', join(base, 'r1-', 'pool'))
  await writeFile(join(base, 'pool', 'a.deb'), 'a package')
  const index = join(base, 'r1-', 'main', 'Packages')
  await writeFile(index, 'an index')
  const measured = await createMeasure(base)(['r1-', 'absent'])
  expect([...(measured.get('r1-') ?? [])].map(([inode]) => inode)).toEqual([(await stat(index)).ino])
  expect(measured.get('absent')?.size).toBe(0)
})
