// File name patterns, with real directories.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { filesOf } from './glob.ts'

let base: string
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'cli-glob-'))
  await mkdir(join(base, 'out', 'deep', 'er'), { recursive: true })
  for (const name of ['a.deb', 'b.deb', 'c.rpm', '.hidden.deb', 'we[i]rd.deb', 'out/d.deb', 'out/deep/er/e.deb'])
    await writeFile(join(base, name), '')
})
afterAll(() => rm(base, { recursive: true, force: true }))

test.each([
  [['a.deb'], ['a.deb']],
  [['*.deb'], ['a.deb', 'b.deb', 'we[i]rd.deb']],
  [
    ['*.deb', 'a.deb', 'c.rpm'],
    ['a.deb', 'b.deb', 'we[i]rd.deb', 'c.rpm'],
  ],
  [['[ac].*'], ['a.deb', 'c.rpm']],
  [['[!a].deb'], ['b.deb']],
  [['?.rpm'], ['c.rpm']],
  [['we[i]rd.deb'], ['we[i]rd.deb']],
  [['out/*.deb'], ['out/d.deb']],
  [['out/**/*.deb'], ['out/d.deb', 'out/deep/er/e.deb']],
  [['**/e.deb'], ['out/deep/er/e.deb']],
])('%s names %s', async (words, files) => {
  const found = await filesOf(words.map((word) => join(base, word)))
  expect(found.map((file) => relative(base, file))).toEqual(files)
})

test.each(['*.apk', 'none.deb', 'none/*.deb', 'out', 'o*'])('%s names no file, which is wrong use', async (word) => {
  await expect(filesOf([join(base, word)])).rejects.toMatchObject({ exit: 2 })
})
