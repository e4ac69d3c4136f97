import { createHash, createPublicKey } from 'node:crypto'
import * as openpgp from 'openpgp'
import { describe, expect, test } from 'vitest'
import { BUILT_IN_SOURCES, BUILT_IN_SOURCE_KEYS } from '../../domain/sources.ts'
import { findDistribution } from '../../formats/index.ts'
import type { Offered } from '../../formats/format.ts'
import { systemClock } from '../../kernel/clock.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { ADDRESSES } from './addresses.ts'
import { builtInRow, seedBuiltInSources } from './seed.ts'

const offered = (codename: string) => findDistribution(codename) as Offered
const KEYS = new Map(Object.values(ADDRESSES).flatMap(({ keys }) => keys.map((key) => [key.label, key] as const)))

describe('a key of a built-in source', () => {
  // The fingerprints were compared with those that the distributions publish.
  test.each([...KEYS.values()].map((key) => [key.label, key] as const))('%s has its fingerprint', async (_, key) => {
    if (key.text.startsWith('-----BEGIN PGP')) {
      const [read, ...others] = await openpgp.readKeys({ armoredKeys: key.text })
      expect(others).toEqual([])
      expect(read?.getFingerprint().toUpperCase()).toBe(key.fingerprint)
      expect(read?.isPrivate()).toBe(false)
    } else {
      const der = createPublicKey(key.text).export({ type: 'spki', format: 'der' })
      expect(createHash('sha256').update(der).digest('hex').toUpperCase()).toBe(key.fingerprint)
      expect(key.name).toMatch(/\.rsa\.pub$/)
    }
  })
})

describe('a built-in source', () => {
  test.each(BUILT_IN_SOURCE_KEYS)('%s has an address of its own for its distribution', (key) => {
    const row = builtInRow(key, offered(BUILT_IN_SOURCES[key].distribution))
    expect(URL.canParse(row.url)).toBe(true)
    expect(row.url).not.toContain('{')
    expect(row.architectures.length).toBeGreaterThan(0)
    const others = BUILT_IN_SOURCE_KEYS.filter((other) => other !== key).map((other) =>
      builtInRow(other, offered(BUILT_IN_SOURCES[other].distribution)),
    )
    expect(others.some(({ url, distribution }) => url === row.url && distribution === row.distribution)).toBe(false)
  })

  test.each([
    [['amd64'], 'http://archive.ubuntu.com/ubuntu', ['amd64']],
    [['amd64', 'arm64'], 'http://archive.ubuntu.com/ubuntu', ['amd64']],
    [['arm64'], 'http://ports.ubuntu.com/ubuntu-ports', ['arm64']],
  ])('of Ubuntu for %s is read from %s', (architectures, url, read) => {
    const jammy = offered('jammy')
    const row = builtInRow('ubuntu-jammy', { ...jammy, distribution: { ...jammy.distribution, architectures } })
    expect([row.url, row.architectures]).toEqual([url, read])
  })
})

test('built-in sources are stored once, follow the service, and keep what people changed', async () => {
  const { db, close } = await createTestDatabase()
  try {
    const seed = (codenames: string[]) => seedBuiltInSources(db, codenames.map(offered), systemClock)
    const urls = async () =>
      Object.fromEntries(
        (await db.selectFrom('sources').select(['key', 'url']).execute()).map((row) => [row.key, row.url]),
      )
    await seed(['bookworm'])
    const first = await urls()
    expect(Object.keys(first).sort()).toEqual(['debian-bookworm', 'debian-bookworm-security'])
    await db
      .updateTable('sources')
      .set({ url: 'https://old.example.org/' })
      .where('key', '=', 'debian-bookworm')
      .execute()
    const mirror = { url: 'https://mirror.example.org/', changed_at: new Date() }
    await db.updateTable('sources').set(mirror).where('key', '=', 'debian-bookworm-security').execute()
    const taken = {
      name: 'Alpine 3.20 main',
      url: 'https://example.org/',
      type: 'apk',
      components: [],
      architectures: [],
    }
    await db
      .insertInto('sources')
      .values({
        ...taken,
        keys: '[]',
        allow_unsigned: true,
        enabled: true,
        security: false,
        created_at: new Date(),
        created_by: 'x',
      })
      .execute()
    await seed(['bookworm', 'alpine3.20'])
    expect(await urls()).toMatchObject({
      'debian-bookworm': first['debian-bookworm'],
      'debian-bookworm-security': mirror.url,
      'alpine-3.20-community': expect.stringContaining('v3.20/community'),
    })
    expect(Object.keys(await urls())).not.toContain('alpine-3.20')
  } finally {
    await close()
  }
})
