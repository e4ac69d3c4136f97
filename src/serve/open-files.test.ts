// Files kept open: shared while in use, closed when nobody needs them, never handed out in another state.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SharedFile } from '../http-files/representation.ts'
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

test('a file is shared by all who saw it in the same state, and stays open for the next', async () => {
  const { handle, shared } = await share('a')
  const again = files.take('a', statsOf('a'))
  expect(again).toBe(shared)
  shared.release()
  again?.release()
  expect(isClosed(handle)).toBe(false)
  files.take('a', statsOf('a'))?.release()
})

test('of a file that changed the old state is closed only when its last reader is done', async () => {
  const { handle, shared } = await share('a')
  writeFileSync(join(dir, 'a'), 'another')
  expect(files.take('a', statsOf('a'))).toBeNull()
  expect(isClosed(handle)).toBe(false)
  expect((await handle.stat()).isFile()).toBe(true)
  shared.release()
  await expect.poll(() => isClosed(handle)).toBe(true)
})

test('two that opened the same file at once both read on', async () => {
  const [one, two] = [await share('a'), await share('a')]
  one.shared.release()
  await expect.poll(() => isClosed(one.handle)).toBe(true)
  expect(isClosed(two.handle)).toBe(false)
  two.shared.release()
})

test('no more files than allowed are kept, the eldest go first', async () => {
  const opened = [await share('a'), await share('b'), await share('c')]
  for (const { shared } of opened) shared.release()
  await expect.poll(() => opened.map(({ handle }) => isClosed(handle))).toEqual([true, false, false])
})

test('what nobody asks for any more is closed after its time, what is being read is not', async () => {
  const quick = createOpenFiles<SharedFile>({ count: 9, idleMs: 5 }, (error) => failures.push(error))
  const [idle, busy] = [await share('a', quick), await share('b', quick)]
  idle.shared.release()
  await expect.poll(() => isClosed(idle.handle)).toBe(true)
  expect(isClosed(busy.handle)).toBe(false)
  busy.shared.release()
  await expect.poll(() => isClosed(busy.handle)).toBe(true)
})

test('closing leaves running transfers their file', async () => {
  const [idle, busy] = [await share('a'), await share('b')]
  idle.shared.release()
  files.close()
  await expect.poll(() => isClosed(idle.handle)).toBe(true)
  expect(isClosed(busy.handle)).toBe(false)
  busy.shared.release()
  await expect.poll(() => isClosed(busy.handle)).toBe(true)
})
