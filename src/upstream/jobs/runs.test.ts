import { expect, test } from 'vitest'
import type { CatalogRecord } from '../../formats/catalog.ts'
import { cutRuns } from './runs.ts'

const record = (content: string): CatalogRecord => ({ content, read: () => ({ name: content, unreadable: 'a test' }) })

async function runsOf(contents: readonly string[]) {
  async function* records() {
    for (const content of contents) yield record(content)
  }
  const runs = []
  for await (const run of cutRuns(records())) runs.push(run)
  return runs
}

const NAMES = Array.from({ length: 5000 }, (_, n) => `package ${n}`)

test('runs hold every record once, in order', async () => {
  const runs = await runsOf(NAMES)
  expect(runs.flatMap(({ records }) => records.map((one) => one.record.content))).toEqual(NAMES)
  expect(runs.length).toBeGreaterThan(20)
})

test.each([
  ['a record more', NAMES.toSpliced(2500, 0, 'another')],
  ['a record less', NAMES.toSpliced(2500, 1)],
  ['another record', NAMES.with(2500, 'another')],
])('%s changes at most two runs', async (_, names) => {
  const before = new Set((await runsOf(NAMES)).map(({ digest }) => digest))
  const changed = (await runsOf(names)).filter(({ digest }) => !before.has(digest))
  expect(changed.length).toBeGreaterThan(0)
  expect(changed.length).toBeLessThanOrEqual(2)
})

test('large records end runs early', async () => {
  const large = 'x'.repeat(700_000)
  async function* records() {
    for (let n = 0; n < 20; n++) yield record(`${n} ${large}`)
  }
  for await (const run of cutRuns(records())) {
    const bytes = run.records.reduce((sum, one) => sum + one.record.content.length, 0)
    expect(bytes).toBeLessThan(3 * 1024 * 1024)
  }
})
