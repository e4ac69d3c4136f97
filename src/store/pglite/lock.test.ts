import { afterEach, beforeEach, expect, test } from 'vitest'
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
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

const FOREIGN = '1 12345 other-host pid:[4026530000]\n'
const agoSeconds = (seconds: number) => Date.now() / 1000 - seconds

test('the lock of another container is refused while it is written, and taken over when that stopped', async () => {
  const path = join(directory, 'gatehouse.lock.foreign')
  await writeFile(path, FOREIGN)
  await utimes(path, agoSeconds(20), agoSeconds(20))
  await expect(lockDirectory(directory)).rejects.toThrow(
    /in use by process 1 of another container or machine \(other-host\), which was alive 2\d s ago: it is free 30 s after/,
  )
  expect(await readdir(directory)).toEqual(['gatehouse.lock.foreign'])
  await utimes(path, agoSeconds(31), agoSeconds(31))
  await (
    await lockDirectory(directory)
  )()
  expect(await readdir(directory)).toEqual([])
})

test('a holder writes its file as long as it has the lock, and is told when another one took it', async () => {
  let lost!: (error: Error) => void
  const told = new Promise<Error>((resolve) => (lost = resolve))
  const release = await lockDirectory(directory, { beatMs: 5, onLost: lost })
  const [name = ''] = await readdir(directory)
  const path = join(directory, name)
  await utimes(path, agoSeconds(100), agoSeconds(100))
  await expect.poll(async () => (await stat(path)).mtimeMs / 1000).toBeGreaterThan(agoSeconds(50))
  await rm(path)
  expect((await told).message).toMatch(/^another process took the embedded database/)
  await release()
})
