// What a generation shares with older ones: removing older ones removes nothing from it.
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { PackageFormat } from '../../formats/format.ts'
import { debFormat } from '../../formats/deb/index.ts'
import type { Distribution } from '../../domain/package.ts'
import { createPaths } from '../../store/paths.ts'
import { writeGeneration } from './generation.ts'
import { treeOf } from './tree.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'generation-'))
})
afterEach(() => rm(root, { recursive: true }))

it('an index is kept by its digest for as long as the newest generation that has it', async () => {
  const distribution = debFormat.distributions[0] as Distribution
  const tree = treeOf(createPaths(root), debFormat, distribution)
  const index = {
    path: 'main/binary-amd64/Packages.gz',
    content: Buffer.from('the same in both'),
    byHash: 'a'.repeat(64),
  }
  const offered = { format: debFormat as PackageFormat, distribution }
  const content = { files: [index], backgroundIndexes: [], unchanged: null }
  const [first, second] = ['r1-00000000', 'r2-00000000'] as const
  expect(await writeGeneration(tree, offered, first, content)).toBe(index.content.byteLength)
  // The second one has no file that only it has.
  expect(await writeGeneration(tree, offered, second, content)).toBe(0)
  // As the collector does; a name that is left alone is one that no generation has.
  await rm(join(tree.base, first), { recursive: true })
  const byHash = join(tree.base, second, 'main/binary-amd64/by-hash/SHA256', index.byHash)
  expect((await stat(byHash)).nlink).toBe(2)
  expect(await readFile(byHash, 'utf8')).toBe('the same in both')
})
