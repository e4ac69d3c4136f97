// What a pool in the file system leaves in a tree.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPaths } from '../paths.ts'
import { createPool } from './pool.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'pool-'))
})
afterEach(() => rm(root, { recursive: true }))

test('publishes that replace a file at the same time leave one name of it', async () => {
  const pool = createPool(createPaths(root))
  const file = { format: 'deb', sha256: 'a'.repeat(64), filename: 'a.deb' }
  const [received, tree] = [join(root, 'received'), join(root, 'tree')]
  await writeFile(received, 'new')
  await pool.keep(received, file)
  await mkdir(tree)
  await writeFile(join(tree, 'a.deb'), 'old')
  // Several of them see the old file before the first replaces it; one that comes later has nothing to change.
  const changed = await Promise.all(Array.from({ length: 8 }, () => pool.publish(file, join(tree, 'a.deb'))))
  expect(changed).toContain(true)
  expect(await readdir(tree)).toEqual(['a.deb'])
  expect(await readFile(join(tree, 'a.deb'), 'utf8')).toBe('new')
})
