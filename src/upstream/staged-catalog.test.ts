// How much of a source is staged: limited by constants and by the disk, whatever its signed description lists.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Problem } from '../domain/problem.ts'
import {
  aptFiles,
  createBench,
  problemOf,
  readCatalog,
  stanza,
  startServer,
  type Bench,
  type FakeServer,
} from './fixture.ts'
import type { UpstreamDeps } from './source.ts'

let bench: Bench
let server: FakeServer
beforeAll(async () => {
  bench = await createBench()
  server = await startServer({})
})
afterAll(async () => {
  await server.close()
  await bench.close()
})

const GIB = 1024 ** 3
const PLAIN = 'main/binary-amd64/Packages'
const source = (architectures = ['amd64']) => ({ url: server.url, suite: 'test', components: ['main'], architectures })

/** Lists these sizes; the files are small. */
function publish(sizes: Record<string, number>): void {
  const listed = Object.entries(sizes).map(([path, sizeBytes]) => ({ path, sizeBytes, content: stanza() }))
  const { release, files } = aptFiles({ packages: stanza(), listed, release: { Architectures: 'amd64 arm64' } })
  const content = Object.fromEntries(listed.map(({ path }) => [`dists/test/${path}`, stanza()]))
  server.files = { ...files, ...content, 'dists/test/InRelease': release }
  server.log = []
}

const open = (deps?: Partial<UpstreamDeps>, architectures?: string[]) => bench.open(source(architectures), deps)

beforeEach(() => publish({ [PLAIN]: Buffer.byteLength(stanza()) }))

test('an index of 900 GB is refused before anything of it is fetched', async () => {
  publish({ [PLAIN]: 900_000_000_000 })
  expect(await problemOf(readCatalog(await open()))).toMatchObject({
    ...{ code: 'upstream_error', extra: { reason: 'too_large' } },
    detail: expect.stringMatching(/lists .*Packages with 900000000000 bytes; at most 536870912/),
  })
  expect(server.log).toEqual(['dists/test/InRelease 200'])
  expect(await bench.leftovers()).toEqual([])
})

test('an index that is listed in a smaller form too is read in that one', async () => {
  publish({ [`${PLAIN}.gz`]: GIB, [PLAIN]: Buffer.byteLength(stanza()) })
  expect((await readCatalog(await open())).entries).toHaveLength(1)
})

test('a disk without room refuses the source, and nothing of it stays there', async () => {
  const other = 'main/binary-arm64/Packages'
  publish({ [PLAIN]: Buffer.byteLength(stanza()), [other]: 100_000 })
  const asked: number[] = []
  const requireRoom = async (bytes: number) => {
    asked.push(bytes)
    if (bytes >= 100_000) throw new Problem('storage_full', 'no room')
  }
  expect(await problemOf(readCatalog(await open({ requireRoom }, ['amd64', 'arm64'])))).toMatchObject({
    code: 'storage_full',
  })
  expect(asked).toEqual([Buffer.byteLength(stanza()), 100_000])
  expect(server.log).not.toContain(`dists/test/${other} 200`)
  expect(await bench.leftovers()).toEqual([])
})
