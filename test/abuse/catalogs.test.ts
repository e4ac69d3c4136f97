// Hostile catalogs: a repository's answers during a sync must cost the service neither time nor memory.
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aptFiles, sha256, stanza, startServer, type FakeServer } from '../../src/upstream/fixture.ts'
import { expectHarmless, startTarget, type Target } from './harness.ts'

const PACKAGES = 'dists/test/main/binary-amd64/Packages.gz'

/** The answers of a repository, and the end of its sync. */
interface Hostile {
  type: 'apt' | 'rpm'
  serve(server: FakeServer): void
  end: Record<string, unknown>
}

const refused = (reason: string) => ({ status: 'error', code: 'upstream_error', reason })

function apt(packages: string): Hostile['serve'] {
  return (server) => {
    const { release, files } = aptFiles({ packages })
    server.files = { ...files, 'dists/test/Release': release }
  }
}

function rpm(primary: string): Hostile['serve'] {
  return (server) => {
    const gz = gzipSync(primary)
    server.files = {
      'primary.xml.gz': gz,
      'repodata/repomd.xml': `<?xml version="1.0" encoding="UTF-8"?><repomd xmlns="http://linux.duke.edu/metadata/repo">
        <data type="primary"><checksum type="sha256">${sha256(gz)}</checksum><open-checksum type="sha256">${sha256(primary)}</open-checksum>
        <location href="primary.xml.gz"/><timestamp>1</timestamp><size>${gz.length}</size><open-size>${primary.length}</open-size></data></repomd>`,
    }
  }
}

/** Answers with an endless body, as fast as it is read. */
function endless(path: string, serve: Hostile['serve']): Hostile['serve'] {
  return (server) => {
    serve(server)
    const piece = Buffer.alloc(64 * 1024, 'x')
    server.intercept = (_, response, asked) => {
      if (asked !== path) return false
      response.writeHead(200)
      const write = () => {
        while (!response.destroyed && response.write(piece));
        if (!response.destroyed) response.once('drain', write)
      }
      write()
      return true
    }
  }
}

const ENTITIES = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">${Array.from({ length: 12 }, (_, n) => `<!ENTITY b${n} "${`&${n === 0 ? 'a' : `b${n - 1}`};`.repeat(10)}">`).join('')}]><metadata packages="1"><package type="rpm"><name>&b11;</name></package></metadata>`
const LINES = '\n x'.repeat(300_000)

const HOSTILE: [string, Hostile][] = [
  [
    'an index that unpacks 1000:1',
    { type: 'apt', serve: apt(stanza() + '\n'.repeat(100e6)), end: refused('malformed') },
  ],
  [
    'a field of 1,000,000 lines',
    { type: 'apt', serve: apt(stanza({ Description: `x${'\n x'.repeat(1_000_000)}` })), end: refused('malformed') },
  ],
  [
    'fifty stanzas of 300,000 lines',
    {
      type: 'apt',
      serve: apt(Array.from({ length: 50 }, (_, n) => stanza({ Package: `p${n}`, Description: `x${LINES}` })).join('')),
      end: { status: 'done', count: 0 },
    },
  ],
  ['XML entities that multiply', { type: 'rpm', serve: rpm(ENTITIES), end: refused('malformed') }],
  [
    'an endless Release',
    { type: 'apt', serve: endless('dists/test/Release', apt(stanza())), end: refused('too_large') },
  ],
  [
    'an endless index',
    { type: 'apt', serve: endless(PACKAGES, apt(stanza())), end: { status: 'error', code: 'checksum_mismatch' } },
  ],
]

// None of them reaches the database, so one engine is enough.
describe('a hostile catalog', () => {
  let target: Target
  let server: FakeServer
  beforeAll(async () => {
    server = await startServer({})
    target = await startTarget('embedded', { ALLOW_PRIVATE_SOURCES: 'true' })
  })
  afterAll(async () => {
    await server?.close()
    await target?.remove()
  })

  test.each(HOSTILE)('%s ends its sync, and the service keeps answering', async (name, hostile) => {
    hostile.serve(server)
    const { body } = await target.call('POST', '/import/sources', {
      ...{ name, type: hostile.type, url: server.url, allow_unsigned: true },
      ...(hostile.type === 'apt' ? { distribution: 'test' } : {}),
    })
    const source = `/import/sources/${String(body.id)}`
    try {
      const measured = await target.measure(async () => {
        const reply = await fetch(`${target.api}/api/v1${source}/sync`, {
          method: 'POST',
          headers: { authorization: `Bearer ${target.token}` },
        })
        const events = [...(await reply.text()).matchAll(/^data: (.*)$/gm)]
        return JSON.parse(events.at(-1)![1]!) as unknown
      })
      expect(measured.result).toMatchObject(hostile.end)
      expectHarmless(name, measured)
    } finally {
      server.intercept = null
      await target.call('DELETE', source)
    }
  })
})
