import { chmod, mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { createPaths, ensurePaths } from './paths.ts'

let root: string
beforeEach(async () => {
  root = join(await mkdtemp(join(tmpdir(), 'gatehouse-paths-')), 'repos')
  return () => rm(join(root, '..'), { recursive: true })
})
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

test.each(['new', 'open to others before'])(
  'directories that are not served are closed to others when %s',
  async (state) => {
    const paths = createPaths(root)
    const { pool, manifests, incoming, quarantine, audit, logs, gnupg, security } = paths
    const closed = [pool, manifests, join(incoming, '..'), incoming, quarantine, audit, logs, gnupg, security]
    if (state !== 'new')
      for (const path of [root, ...closed]) {
        await mkdir(path, { recursive: true })
        await chmod(path, 0o755)
      }
    await ensurePaths(paths, ['dists', 'rpm'])
    for (const path of closed) expect([path, await modeOf(path)]).toEqual([path, '700'])
    for (const path of [root, paths.keys, paths.generations, join(root, 'dists'), join(root, 'rpm')])
      expect([path, await modeOf(path)]).toEqual([path, '755'])
  },
)
