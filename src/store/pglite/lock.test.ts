import { afterEach, beforeEach, expect, test } from 'vitest'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lockDirectory } from './lock.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-lock-'))
})
afterEach(() => rm(directory, { recursive: true }))

test('a directory in use is refused, and free after its release', async () => {
  const release = await lockDirectory(directory)
  await expect(lockDirectory(directory)).rejects.toThrow(`is in use by process ${process.pid}`)
  await release()
  await (
    await lockDirectory(directory)
  )()
  expect(await readdir(directory)).toEqual([])
})

test.each([
  ['a process that is gone', '999999999 1\n'],
  ['another process that has the number by now', '1 12345\n'],
  ['nobody', ''],
])('the lock of %s is taken over', async (_, text) => {
  await writeFile(join(directory, 'gatehouse.lock.old'), text)
  await (
    await lockDirectory(directory)
  )()
  expect(await readdir(directory)).toEqual([])
})
