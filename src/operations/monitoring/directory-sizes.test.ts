import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { createDirectorySizes } from './directory-sizes.ts'

let root: string
let time: number
beforeEach(async () => {
  time = 0
  root = await mkdtemp(join(tmpdir(), 'gatehouse-sizes-'))
  return () => rm(root, { recursive: true })
})
const sizes = () => createDirectorySizes({ clock: { now: () => new Date(time) } })

test('files at any depth count', async () => {
  await mkdir(join(root, 'a', 'b'), { recursive: true })
  await writeFile(join(root, 'one'), 'x'.repeat(10))
  await writeFile(join(root, 'a', 'b', 'two'), 'x'.repeat(200))
  expect(await sizes().bytesBelow(root)).toBe(210)
})

test('an absent directory has no size, an empty one has 0', async () => {
  expect(await sizes().bytesBelow(join(root, 'absent'))).toBeNull()
  expect(await sizes().bytesBelow(root)).toBe(0)
})

test('a size is kept for ten minutes and measured again after that, while the old one is returned', async () => {
  const { bytesBelow } = sizes()
  expect(await bytesBelow(root)).toBe(0)
  await writeFile(join(root, 'one'), 'x')
  time += 599_000
  expect(await bytesBelow(root)).toBe(0)
  time += 1_000
  expect(await bytesBelow(root)).toBe(0)
  await expect.poll(() => bytesBelow(root)).toBe(1)
})
