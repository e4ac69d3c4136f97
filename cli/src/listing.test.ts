// Lists in pages: what is printed of them, and what is said about what is not.
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { givenOf, type Context } from './command.ts'
import { printPages, type List, type PageQuery, type Paged } from './listing.ts'
import { createTerminal } from './terminal.ts'

interface Answer extends Paged {
  items: { n: number }[]
}

const LIST: List<Answer, { n: number }> = {
  rows: ({ items }) => items,
  head: ['N'],
  cells: ({ n }) => [n],
  none: () => 'nothing',
}

/** Prints a list of so many rows, as the service would page it. */
async function printed(count: number, values: Record<string, unknown>, more: Partial<Paged> = {}) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const fields = typeof values['fields'] === 'string' ? [values['fields']] : null
  const terminal = createTerminal({ stdin: new PassThrough(), stdout, stderr }, { quiet: true, fields, env: {} })
  const context = { terminal, json: values['json'] === true || fields !== null, fields: fields !== null }
  const pages: number[] = []
  const read = async ({ page = 1, per_page: per = 50 }: PageQuery) => {
    pages.push(page)
    const items = Array.from({ length: Math.max(0, Math.min(per, count - (page - 1) * per)) }, (_, i) => ({
      n: (page - 1) * per + i,
    }))
    return { items, total: count, pages: Math.ceil(count / per), ...more }
  }
  await printPages(context as Context, givenOf(values), LIST, read)
  const text = (stream: PassThrough) => {
    let all = ''
    for (let piece: Buffer | null; (piece = stream.read() as Buffer | null) !== null;) all += piece.toString()
    return all
  }
  return { out: text(stdout).split('\n').slice(0, -1), err: text(stderr), pages }
}

test.each([
  [0, [1], 0],
  [1, [1], 1],
  [200, [1, 2], 200],
  [201, [1, 2], 201],
  [450, [1, 2, 3], 450],
])('--all prints all of %i rows', async (count, pages, lines) => {
  const ran = await printed(count, { all: true })
  expect([ran.pages, ran.out.length, ran.err]).toEqual([pages, lines, ''])
  expect(new Set(ran.out).size).toBe(lines)
})

test('--all goes on behind a total that counts only so far', async () => {
  const ran = await printed(450, { all: true }, { total: 100, pages: 1, total_capped: true })
  expect([ran.out.length, ran.err]).toEqual([450, ''])
})

test('--all says that the list changed, also with --quiet', async () => {
  expect((await printed(450, { all: true }, { total: 451 })).err).toContain('450 rows were printed, and there are 451')
})

test('--all --json prints one row a line, and --fields the fields', async () => {
  expect((await printed(2, { all: true, json: true })).out).toEqual(['{"n":0}', '{"n":1}'])
  expect((await printed(2, { all: true, fields: 'n' })).out).toEqual(['0', '1'])
  expect((await printed(2, { fields: 'n' })).out).toEqual(['0', '1'])
})

test.each([{}, { json: true }, { fields: 'n' }])(
  '%j: a page says what it leaves out, also with --quiet',
  async (values) => {
    expect((await printed(60, values)).err).toContain('50 of 60; --all prints every one')
    expect((await printed(50, values)).err).toBe('')
  },
)

test.each([{ page: '2' }, { limit: '5' }])('--all with %j is wrong use', async (values) => {
  await expect(printed(1, { all: true, ...values })).rejects.toThrow('--all goes without')
})
