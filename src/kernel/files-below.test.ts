// Every file of a deep tree, in batches, while the event loop stays free for others.
import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { entriesBelow, entriesOf, namesIn, pathsOf } from './files-below.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'files-below-'))
  return () => rm(directory, { recursive: true })
})

test('all files of directories with many entries, and turns of the event loop between them', async () => {
  const wanted = Array.from({ length: 600 }, (_, n) => join(directory, String(n % 16), String(n), 'file'))
  for (const path of wanted) {
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, '')
  }
  let [turns, isOver] = [0, false]
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const batches: string[][] = []
  for await (const files of pathsOf(entriesBelow(directory), 250)) batches.push(files)
  isOver = true
  expect(batches.map(({ length }) => length)).toEqual([250, 250, 100])
  expect(batches.flat().sort()).toEqual(wanted.sort())
  // At least one for each directory.
  expect(turns).toBeGreaterThan(600)
})

test('a missing directory has no files', async () => {
  const absent = join(directory, 'absent')
  for await (const _ of entriesBelow(absent)) expect.unreachable()
  for await (const _ of await entriesOf(absent)) expect.unreachable()
  expect(await namesIn(absent)).toEqual([])
})

test('a directory that is not to be entered is left out with all that is below', async () => {
  for (const path of ['kept/in', 'out/in', 'kept/out/in']) {
    mkdirSync(join(directory, path), { recursive: true })
    writeFileSync(join(directory, path, 'file'), '')
  }
  const isEntered = (path: string) => basename(path) !== 'out'
  const batches: string[][] = []
  for await (const files of pathsOf(entriesBelow(directory, isEntered), 10)) batches.push(files)
  expect(batches).toEqual([[join(directory, 'kept/in/file')]])
})
