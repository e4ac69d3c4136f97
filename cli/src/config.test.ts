import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { changeConfig, readConfig } from './config.ts'

let home: string
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'gatehouse-config-'))
})
afterAll(() => rm(home, { recursive: true }))

const store = (path: string) => changeConfig(path, async (config) => void (config.profiles['a'] = { url: 'http://a' }))

test('the directories of the file are made, closed to others', async () => {
  const path = join(home, 'not', 'there', 'gatehouse', 'config.json')
  await store(path)
  expect((await readConfig(path)).profiles).toEqual({ a: { url: 'http://a' } })
  for (const made of ['not', 'not/there', 'not/there/gatehouse'])
    expect((await stat(join(home, made))).mode & 0o777).toBe(0o700)
})

// A file; and where available, a file system without new names: there a recursive mkdir never ends.
test.each(['/dev/null', '/dev/null/deeper', ...(process.platform === 'linux' ? ['/proc', '/proc/not/there'] : [])])(
  'a directory that cannot be made below %s is a failure',
  async (base) => {
    await expect(store(join(base, 'gatehouse', 'config.json'))).rejects.toThrow(/cannot be/)
  },
)
