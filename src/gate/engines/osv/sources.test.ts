// Which files of a directory are read as advisories.
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { directorySource } from './sources.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'gatehouse-osv-'))
  await mkdir(join(root, 'here/deb/2026'), { recursive: true })
  await mkdir(join(root, 'elsewhere'))
  for (const path of ['here/b.json', 'here/deb/2026/a.json', 'here/deb/notes.txt', 'elsewhere/c.json'])
    await writeFile(join(root, path), '{}')
  return () => rm(root, { recursive: true })
})

async function namesIn(directory: string): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of directorySource(directory).files()) names.push(name)
  return names
}

test('files of all directories below are read, in the order of their names', async () => {
  expect(await namesIn(join(root, 'here'))).toEqual(['b.json', 'deb/2026/a.json'])
  expect(await namesIn(`${join(root, 'here')}/`)).toEqual(['b.json', 'deb/2026/a.json'])
})

test('a link to a directory is not followed, not even one that leads back', async () => {
  await symlink(join(root, 'elsewhere'), join(root, 'here/other'))
  await symlink(join(root, 'here'), join(root, 'here/deb/again'))
  expect(await namesIn(join(root, 'here'))).toEqual(['b.json', 'deb/2026/a.json'])
})

test('a missing directory is an error, not an empty list of advisories', async () => {
  await expect(namesIn(join(root, 'none'))).rejects.toThrow('ENOENT')
  await expect(directorySource(join(root, 'none')).digest()).rejects.toThrow('ENOENT')
})
