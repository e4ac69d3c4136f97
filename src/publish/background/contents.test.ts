// The list of files by package: its order, the joining of lines, and how long it blocks the event loop.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { joinNames, write } from './contents.ts'
import { sortLines } from './sort-lines.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'contents-'))
})
afterAll(() => rm(directory, { recursive: true }))

async function* from<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}

async function joined<T>(batches: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const batch of batches) all.push(batch)
  return all
}

test('lines come out in order of their code units, whatever they hold', async () => {
  const line = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\n', ''))
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 50 }), async (lines) => {
      expect((await joined(sortLines(lines, directory))).flat()).toEqual([...lines].sort())
    }),
    { numRuns: 50 },
  )
})

test('chunks that are merged more than once come out in order', async () => {
  // With 8,000 lines a run and 128 runs a merge, 1.1 million lines need two levels.
  let seed = 1
  const lines = function* () {
    for (let n = 0; n < 1_100_000; n++) {
      seed = (seed * 1103515245 + 12345) % 2 ** 31
      yield seed.toString(36)
    }
  }
  let before = ''
  let count = 0
  for await (const batch of sortLines(lines(), directory)) {
    for (const line of batch) {
      if (line < before) throw new Error(`${line} came after ${before}`)
      before = line
      count++
    }
  }
  expect(count).toBe(1_100_000)
  // One run of each level is left; the owner of the directory removes it.
  expect((await readdir(directory)).length).toBeLessThan(128)
})

test.each([
  ['no line', [], ''],
  ['one package of a path', [['usr/bin/a\tadmin/a']], `${'usr/bin/a'.padEnd(59)} admin/a\n`],
  [
    'two packages of a path, over two batches, one of them twice',
    [['usr/bin/a\tadmin/a', 'usr/bin/a\tadmin/a'], ['usr/bin/a\tadmin/b']],
    `${'usr/bin/a'.padEnd(59)} admin/a,admin/b\n`,
  ],
  ['a path with a tab', [['usr/a\tb\tadmin/a']], `${'usr/a\tb'.padEnd(59)} admin/a\n`],
])('joins %s', async (_, batches, expected) => {
  expect((await joined(joinNames(from(batches)))).join('')).toBe(expected)
})

test('a million lines let timers and sockets be served all the time', async () => {
  const lines = function* () {
    for (let n = 0; n < 1_000_000; n++)
      yield `usr/share/doc/package-${(n * 7919) % 100_000}/file-${n}.txt\tadmin/package-${n % 100}`
  }
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  let turns = 0
  let isMade = false
  const takeTurn = () => {
    turns++
    if (!isMade) setImmediate(takeTurn)
  }
  setImmediate(takeTurn)
  const began = process.cpuUsage()
  const made = await write(from(lines()), directory)
  delay.disable()
  const { user, system } = process.cpuUsage(began)
  if (process.env['VERBOSE']) console.log({ longestMs: delay.max / 1e6, cpuMs: (user + system) / 1e3 })
  isMade = true
  // At least one turn for each sorted run; the previous merge had hundreds of thousands of lines in one turn.
  expect(turns).toBeGreaterThan(125)
  const text = gunzipSync(await readFile(join(directory, made.sha256))).toString()
  expect(text.length).toBe(made.plain.sizeBytes)
  expect(text.match(/\n/g)).toHaveLength(1_000_000)
})
