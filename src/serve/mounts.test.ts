// What a listener shows of formats that are not switched on: nothing, also of a tree from when they were.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { FormatId } from '../domain/package.ts'
import { createRepository, startListener, type Repository } from './listener.fixture.ts'
import { activeMounts, APT_MOUNTS, RPM_MOUNTS } from './mounts.ts'

const INDEXES: Record<FormatId, { url: string; path: string; mounts: typeof APT_MOUNTS }> = {
  deb: { url: '/repos/dists/jammy/InRelease', path: 'dists/jammy/InRelease', mounts: APT_MOUNTS },
  apk: {
    url: '/apk/alpine3.20/main/x86_64/APKINDEX.tar.gz',
    path: 'apk/alpine3.20/main/x86_64/APKINDEX.tar.gz',
    mounts: APT_MOUNTS,
  },
  rpm: {
    url: '/repos/rocky9/x86_64/repodata/repomd.xml',
    path: 'rpm/rocky9/x86_64/repodata/repomd.xml',
    mounts: RPM_MOUNTS,
  },
}

let repository: Repository

beforeEach(() => {
  repository = createRepository()
  for (const { path } of Object.values(INDEXES)) repository.write(path, 'index')
  for (const key of ['gpg.key', 'svc.rsa.pub']) repository.write(`keys/${key}`, 'key')
})
afterEach(() => repository.remove())

test.each<[FormatId[]]>([[['deb']], [['rpm']], [['apk']], [['deb', 'rpm']], [['deb', 'rpm', 'apk']]])(
  '%j',
  async (active) => {
    const status = async (mounts: typeof APT_MOUNTS, url: string) => {
      const server = await startListener(repository.dir, { mounts: activeMounts(mounts, active) })
      try {
        return (await server.get(url)).status
      } finally {
        await server.close(1000)
      }
    }
    for (const [format, { url, mounts }] of Object.entries(INDEXES)) {
      expect([format, await status(mounts, url)]).toEqual([format, active.includes(format as FormatId) ? 200 : 404])
    }
    expect(await status(APT_MOUNTS, '/repos/gpg.key')).toBe(200)
    expect(await status(APT_MOUNTS, '/apk/svc.rsa.pub')).toBe(200)
    expect(await status(RPM_MOUNTS, '/repos/gpg.key')).toBe(200)
  },
)
