import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  aptFiles,
  createBench,
  createKey,
  problemOf,
  readCatalog,
  sha256,
  stanza,
  type Bench,
  type TestKey,
} from './fixture.ts'

let bench: Bench
let key: TestKey
let base: string
let root: string
let outside: string

beforeAll(async () => {
  bench = await createBench()
  key = await createKey()
  base = await mkdtemp(join(tmpdir(), 'import-'))
  root = join(base, 'allowed')
  outside = join(base, 'outside')
  await mkdir(join(root, 'repository'), { recursive: true })
  await mkdir(outside)
  await writeFile(join(outside, 'secret.deb'), 'secret')
})
afterAll(async () => {
  await bench.close()
  await rm(base, { recursive: true })
})

async function write(files: Record<string, Buffer | string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
}

const open = (directory: string) =>
  bench.open(
    {
      url: pathToFileURL(directory).href,
      suite: 'test',
      components: ['main'],
      architectures: ['amd64'],
      keys: [{ name: null, text: key.publicKey }],
    },
    { importDirectories: [root] },
  )

describe('a repository in a directory', () => {
  test('is read, and unchanged the next time', async () => {
    const { release, files } = aptFiles({ packages: stanza() })
    await write(
      Object.fromEntries(
        Object.entries({
          ...files,
          'dists/test/InRelease': await key.cleartext(release),
          'pool/main/h/hello/hello_2.10-3_amd64.deb': 'content',
        }).map(([path, content]) => [`repository/${path}`, content]),
      ),
    )
    const upstream = await open(join(root, 'repository'))
    const { entries, seen } = await readCatalog(upstream)
    expect(entries).toHaveLength(1)
    expect((await upstream.check(seen)).state).toBe('unchanged')
    const to = join(bench.directory, 'fetched')
    expect(await upstream.fetchPackage(entries[0]!, to)).toMatchObject({ sha256: sha256('content'), sizeBytes: 7 })
    await rm(to)
  })

  test.each<[string, () => Promise<string>]>([
    ['outside the import directories', async () => outside],
    ['above them', async () => base],
    ['beside them, with the same beginning', async () => `${root}-other`],
    ['outside by way of dots', async () => `${root}/../outside`],
    [
      'outside by way of a link',
      async () => {
        await symlink(outside, join(root, 'link'))
        return join(root, 'link')
      },
    ],
    ['that does not exist', async () => join(root, 'nothing')],
  ])('%s is refused', async (_, directory) => {
    expect(await problemOf(open(await directory()))).toMatchObject({ code: 'forbidden_target' })
  })

  test.each(['file://host/srv', 'file:///a%2Fb', 'file:///a%00b', 'file:'])('is not looked for at %s', async (url) => {
    expect(await problemOf(bench.open({ url }, { importDirectories: [root] }))).toMatchObject({
      code: 'forbidden_target',
    })
    const tree = bench.upstreams({ importDirectories: [root] }).openTree(url)
    expect(await problemOf(tree)).toMatchObject({ code: 'forbidden_target' })
  })

  test('does not give a file that is a link out of the root, a pipe or a directory', async () => {
    const upstream = await open(join(root, 'repository'))
    await symlink(join(outside, 'secret.deb'), join(root, 'repository/leak.deb'))
    await symlink(outside, join(root, 'repository/leak'))
    execFileSync('mkfifo', [join(root, 'repository/pipe.deb')])
    const to = join(bench.directory, 'fetched')
    for (const path of ['leak.deb', 'leak/secret.deb', 'pipe.deb', 'dists']) {
      const entry = { path, sizeBytes: 6, digest: { algorithm: 'sha256' as const, hex: sha256('secret') } }
      expect(await problemOf(upstream.fetchPackage(entry, to)), path).toMatchObject({ extra: { reason: 'path' } })
    }
    expect(await bench.leftovers()).toEqual([])
  })

  test('gives a file that is a link inside the root', async () => {
    await write({ 'shared/x.deb': 'shared' })
    await symlink('../shared/x.deb', join(root, 'repository/inside.deb'))
    const to = join(bench.directory, 'fetched')
    const digest = { algorithm: 'sha256' as const, hex: sha256('shared') }
    await (await open(join(root, 'repository'))).fetchPackage({ path: 'inside.deb', sizeBytes: 6, digest }, to)
    await rm(to)
  })
})

describe('a tree of package files', () => {
  const listed = async (directory: string) => {
    const tree = await bench.upstreams({ importDirectories: [root] }).openTree(pathToFileURL(directory).href)
    const files = []
    const unreadable = []
    for await (const batch of tree.files()) {
      files.push(...batch.files)
      unreadable.push(...batch.unreadable)
    }
    return { tree, files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), unreadable }
  }

  test('is listed by the names of its files', async () => {
    await write({
      'tree/a.deb': 'a',
      'tree/deep/er/b.rpm': 'bb',
      'tree/c.apk': 'ccc',
      'tree/d.txt': 'd',
      'tree/.git/e.deb': 'e',
    })
    await symlink(join(outside, 'secret.deb'), join(root, 'tree/leak.deb'))
    await symlink('.', join(root, 'tree/loop'))
    await write({ 'tree/\u0007.deb': 'bell' })
    const { tree, files, unreadable } = await listed(join(root, 'tree'))
    expect(files).toEqual([
      { path: 'a.deb', sizeBytes: 1 },
      { path: 'c.apk', sizeBytes: 3 },
      { path: 'deep/er/b.rpm', sizeBytes: 2 },
    ])
    expect(unreadable.map(({ name }) => name).sort()).toEqual(['\u0007.deb', 'leak.deb'])
    const to = join(bench.directory, 'fetched')
    expect(await tree.fetchPackage(files[0]!, to)).toMatchObject({ sha256: sha256('a') })
    await rm(to)
    await write({ 'tree/a.deb': 'longer' })
    expect(await problemOf(tree.fetchPackage(files[0]!, to))).toMatchObject({ code: 'checksum_mismatch' })
    expect(await problemOf(tree.fetchPackage({ path: '../../outside/secret.deb', sizeBytes: 6 }, to))).toMatchObject({
      extra: { reason: 'path' },
    })
  })

  test('outside the import directories is refused', async () => {
    const upstreams = bench.upstreams({ importDirectories: [root] })
    expect(await problemOf(upstreams.openTree(pathToFileURL(outside).href))).toMatchObject({ code: 'forbidden_target' })
    expect(await problemOf(upstreams.openTree('http://example.org/'))).toMatchObject({ code: 'forbidden_target' })
  })
})
