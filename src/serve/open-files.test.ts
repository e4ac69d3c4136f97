// Open files are shared while in use, closed when unused, and never returned after a change.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SharedFile } from './files/representation.ts'
import { createOpenFiles, type OpenFiles } from './open-files.ts'

let dir: string
let failures: unknown[]
let files: OpenFiles<SharedFile>

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'open-'))
  failures = []
  files = createOpenFiles<SharedFile>({ count: 2, idleMs: 60_000 }, (error) => failures.push(error))
})

afterEach(() => {
  files.close()
  rmSync(dir, { recursive: true })
  expect(failures).toEqual([])
})

const statsOf = (name: string) => statSync(join(dir, name), { bigint: true })

async function share(name: string, from = files) {
  writeFileSync(join(dir, name), name)
  const handle = await open(join(dir, name))
  return { handle, shared: from.share(name, statsOf(name), handle, (file) => file) }
}

/** A closed handle has no descriptor any more. */
const isClosed = (handle: FileHandle) => handle.fd === -1

test('a file is shared by requests that saw the same state, and stays open for the next', async () => {
  const { handle, shared } = await share('a')
  const again = files.take('a', statsOf('a'))
  expect(again).toBe(shared)
  shared.release()
  again?.release()
  expect(isClosed(handle)).toBe(false)
  files.take('a', statsOf('a'))?.release()
})

test('a changed file keeps the old handle open until its last reader finishes', async () => {
  const { handle, shared } = await share('a')
  writeFileSync(join(dir, 'a'), 'another')
  expect(files.take('a', statsOf('a'))).toBeNull()
  expect(isClosed(handle)).toBe(false)
  expect((await handle.stat()).isFile()).toBe(true)
  shared.release()
  await expect.poll(() => isClosed(handle)).toBe(true)
})

test('two readers that opened the same file at the same time both continue', async () => {
  const [one, two] = [await share('a'), await share('a')]
  one.shared.release()
  await expect.poll(() => isClosed(one.handle)).toBe(true)
  expect(isClosed(two.handle)).toBe(false)
  two.shared.release()
})

test('the oldest files are closed when there are too many', async () => {
  const opened = [await share('a'), await share('b'), await share('c')]
  for (const { shared } of opened) shared.release()
  await expect.poll(() => opened.map(({ handle }) => isClosed(handle))).toEqual([true, false, false])
})

test('an unused file is closed after the idle time, a file being read is not', async () => {
  const quick = createOpenFiles<SharedFile>({ count: 9, idleMs: 5 }, (error) => failures.push(error))
  const [idle, busy] = [await share('a', quick), await share('b', quick)]
  idle.shared.release()
  await expect.poll(() => isClosed(idle.handle)).toBe(true)
  expect(isClosed(busy.handle)).toBe(false)
  busy.shared.release()
  await expect.poll(() => isClosed(busy.handle)).toBe(true)
})

test('closing keeps the files of running transfers open', async () => {
  const [idle, busy] = [await share('a'), await share('b')]
  idle.shared.release()
  files.close()
  await expect.poll(() => isClosed(idle.handle)).toBe(true)
  expect(isClosed(busy.handle)).toBe(false)
  busy.shared.release()
  await expect.poll(() => isClosed(busy.handle)).toBe(true)
})
