import { afterAll, beforeAll, expect, test } from 'vitest'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { debFormat } from '../../formats/deb/index.ts'
import type { Offered } from '../../formats/format.ts'
import { loadBlocks, saveBlocks } from './block-cache.ts'
import { changeBlocks } from './blocks.ts'
import { composeStream, createStreamDigests } from './compose.ts'
import { countOf, emptyState, type IndexState } from './index-state.ts'

const offered: Offered = {
  format: debFormat,
  distribution: { ...debFormat.distributions[0]!, architectures: ['amd64', 'arm64'] },
}
let directory: string
let state: IndexState
const file = () => join(directory, 'blocks.cache')

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gatehouse-blocks-'))
  state = emptyState(offered)
  const entries = Array.from({ length: 300 }, (_, i) => ({
    id: i,
    position: i,
    weight: (i * 2654435761) % 2 ** 32,
    bytes: Buffer.from(`Package: p${i}\n${'x'.repeat(i)}\n\n`),
  }))
  for (const stream of state.streams.values()) stream.blocks = (await changeBlocks([], [], entries, stream.spec)).blocks
  state.revision = 7
  await saveBlocks(file(), state)
})
afterAll(() => rm(directory, { recursive: true }))

test('blocks that were saved and loaded compose to the same files, before and after a change', async () => {
  const loaded = (await loadBlocks(file(), offered)) as IndexState
  expect([loaded.revision, countOf(loaded, 'amd64'), countOf(loaded, 'arm64')]).toEqual([7, 300, 300])
  for (const [key, { spec, blocks }] of state.streams) {
    const more = [{ id: 900, position: 900, weight: 5, bytes: Buffer.from('Package: more\n\n') }]
    const digestOf = async (from: typeof blocks) => {
      const changed = await changeBlocks(from, [], more, spec)
      const composed = await composeStream(
        changed.blocks,
        Buffer.alloc(0),
        Buffer.alloc(0),
        spec,
        createStreamDigests(),
      )
      return [composed.plain.sha256, composed.gz.sha256, composed.xz?.sha256]
    }
    expect(await digestOf(loaded.streams.get(key)?.blocks ?? [])).toEqual(await digestOf(blocks))
  }
})

test('a damaged or missing file gives no blocks, never wrong ones', async () => {
  expect(await loadBlocks(join(directory, 'none'), offered)).toBeNull()
  const content = await readFile(file())
  for (const at of [0, 40, content.length - 1]) {
    const damaged = Buffer.from(content)
    damaged[at] = (damaged[at] as number) ^ 1
    await writeFile(join(directory, 'damaged'), damaged)
    expect(await loadBlocks(join(directory, 'damaged'), offered)).toBeNull()
  }
})

test('blocks of other architectures are not used', async () => {
  const distribution = { ...offered.distribution, architectures: ['amd64'] }
  expect(await loadBlocks(file(), { ...offered, distribution })).toBeNull()
})

test('blocks of a distribution that was never published are saved: it has no directory yet', async () => {
  const path = join(directory, 'new', 'blocks.cache')
  await saveBlocks(path, state)
  expect((await loadBlocks(path, offered))?.revision).toBe(7)
})
