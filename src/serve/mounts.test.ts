// A listener serves nothing of a format that is switched off, even when its tree exists.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { FormatId } from '../../test/formats.ts'
import { formats } from '../formats/index.ts'
import type { ListenerId } from '../formats/serving.ts'
import { createRepository, startListener, type Repository } from './listener.fixture.ts'
import { mountsOf } from './mounts.ts'

const INDEXES: Record<FormatId, { url: string; path: string; listener: ListenerId }> = {
  deb: { url: '/repos/dists/jammy/InRelease', path: 'dists/jammy/InRelease', listener: 'apt' },
  apk: {
    url: '/apk/alpine3.20/main/x86_64/APKINDEX.tar.gz',
    path: 'apk/alpine3.20/main/x86_64/APKINDEX.tar.gz',
    listener: 'apt',
  },
  rpm: {
    url: '/repos/rocky9/x86_64/repodata/repomd.xml',
    path: 'rpm/rocky9/x86_64/repodata/repomd.xml',
    listener: 'rpm',
  },
}

let repository: Repository

beforeEach(() => {
  repository = createRepository()
  for (const { path } of Object.values(INDEXES)) repository.write(path, 'index')
  for (const key of ['gpg.key', 'packages.key', 'svc.rsa.pub']) repository.write(`keys/${key}`, 'key')
})
afterEach(() => repository.remove())

test.each<[FormatId[]]>([[['deb']], [['rpm']], [['apk']], [['deb', 'rpm']], [['deb', 'rpm', 'apk']]])(
  '%j',
  async (active) => {
    const status = async (listener: ListenerId, url: string) => {
      const activeFormats = formats.filter(({ id }) => active.some((one) => one === id))
      const mounts = mountsOf(listener, formats, activeFormats)
      const server = await startListener(repository.dir, { mounts })
      try {
        return (await server.get(url)).status
      } finally {
        await server.close(1000)
      }
    }
    for (const [format, { url, listener }] of Object.entries(INDEXES)) {
      expect([format, await status(listener, url)]).toEqual([format, active.includes(format as FormatId) ? 200 : 404])
    }
    expect(await status('apt', '/repos/gpg.key')).toBe(200)
    expect(await status('apt', '/apk/svc.rsa.pub')).toBe(200)
    expect(await status('rpm', '/repos/gpg.key')).toBe(200)
  },
)
