// The publisher on a real tree: what it keeps on disk and in memory, and what it repairs.
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { lstat, mkdir, readdir, readFile, rename, rm, stat, symlink, readlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createPublishingHouse, openSite, type PublishingHouse, type Site } from './publisher.fixture.ts'
import { ensureDistributions, formerDistributions } from './initialize.ts'
import type { Publisher } from './publisher.ts'
import { linkedGeneration } from './tree/tree.ts'
import { entriesBelow } from '../kernel/files-below.ts'
import { GRACE_MS } from '../domain/grace.ts'

const MINUTE = 60_000

let site: Site
let house: PublishingHouse
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())
beforeEach(async () => {
  house = await createPublishingHouse(site.database, site.signers, ['jammy', 'bookworm'])
})
afterEach(() => house.close())

const generations = async (codename: string) =>
  (await readdir(house.tree(codename).base)).filter((name) => /^r\d+-/.test(name))
const byHash = (codename: string) => readdir(join(house.tree(codename).byHash, 'SHA256'))

async function publishNext(codename: string, name: string): Promise<void> {
  await house.addPackage(codename, name)
  await house.publisher.converge(codename)
}

describe('old generations', () => {
  test('stay for the grace time after they were superseded and go then, with their files under by-hash', async () => {
    // 60 publishes, one every 30 seconds: half an hour. At most these are kept: the last 15 minutes (30 publishes), the live one
    // and up to ten that wait for the next cleaning.
    const most = { generations: 0, files: 0 }
    for (let n = 0; n < 60; n++) {
      await publishNext('jammy', `package-${n}`)
      house.clock.advance(30_000)
      await house.publisher.saveBlocks()
      most.generations = Math.max(most.generations, (await generations('jammy')).length)
      most.files = Math.max(most.files, (await byHash('jammy')).length)
    }
    expect(most.generations).toBeGreaterThanOrEqual(30)
    expect(most.generations).toBeLessThanOrEqual(30 + 1 + 10)
    const filesEach = Math.ceil(most.files / most.generations)
    expect(filesEach).toBeLessThanOrEqual(5)

    house.clock.advance(GRACE_MS + MINUTE)
    await house.publisher.clean()
    expect(await generations('jammy')).toHaveLength(3)
    for (const name of await byHash('jammy')) {
      const { nlink } = await stat(join(house.tree('jammy').byHash, 'SHA256', name))
      expect(nlink).toBeGreaterThan(1)
    }
    expect(house.errors).toEqual([])
  })

  test('are kept when they were live for days and superseded a minute ago', async () => {
    await publishNext('jammy', 'first')
    const longLive = await linkedGeneration(house.tree('jammy').link)
    house.clock.advance(3 * 24 * 60 * MINUTE)
    for (const name of ['a', 'b', 'c', 'd']) await publishNext('jammy', name)
    await house.publisher.clean()
    expect(await generations('jammy')).toContain(longLive)
  })

  test('are removed after a process died while it removed them', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await publishNext('jammy', name)
    const { base } = house.tree('jammy')
    const [oldest = ''] = (await generations('jammy')).sort()
    await sql`update distributions set cleaning_token = 'dead', cleaning_since = now() - interval '11 seconds'`.execute(
      house.db,
    )
    house.clock.advance(GRACE_MS + MINUTE)
    await house.publisher.clean()
    expect(await generations('jammy')).not.toContain(oldest)
    expect(await generations('jammy')).toHaveLength(3)
    expect(await readdir(base)).toContain(await linkedGeneration(house.tree('jammy').link))
  })
})

describe('a bound on old generations', () => {
  const MIB = 1024 * 1024

  /** Publishes this many packages, one after another. */
  async function publishSome(publisher: Publisher, codename: string, count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      await house.addPackage(codename, `package-${n}`)
      await publisher.converge(codename)
      house.clock.advance(1000)
    }
  }

  /** Bytes on disk below the directories of generations; shared files are counted once. */
  async function roomOf(codename: string, names: readonly string[]): Promise<number> {
    const { base } = house.tree(codename)
    const sizes = new Map<number, number>()
    for (const name of names)
      for await (const entry of entriesBelow(join(base, name))) {
        const info = await lstat(join(entry.parentPath, entry.name))
        if (info.isFile()) sizes.set(info.ino, info.blocks * 512)
      }
    return [...sizes.values()].reduce((sum, size) => sum + size, 0)
  }

  /** Checks that everything that InRelease of a generation lists can be fetched by digest. */
  async function isServed(codename: string, generation: string): Promise<void> {
    const root = join(house.tree(codename).base, generation)
    const release = await readFile(join(root, 'Release'), 'utf8')
    const listed = [...release.matchAll(/^ ([0-9a-f]{64}) +\d+ (\S+\.(?:gz|xz))$/gm)]
    expect(listed.length).toBeGreaterThan(1)
    for (const [, digest = '', path = ''] of listed) {
      const bytes = await readFile(join(root, dirname(path), 'by-hash/SHA256', digest))
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(digest)
    }
  }

  test('holds by number, and what is kept can be fetched', async () => {
    const publisher = house.addPublisher({ mostSuperseded: { number: 8, bytes: 100 * MIB, leastMs: 0 } })
    await publishSome(publisher, 'jammy', 30)
    // At most ten wait for the next cleaning.
    expect((await generations('jammy')).length).toBeLessThanOrEqual(8 + 1 + 10)
    // The thirtieth publish began a cleaning.
    await publisher.settled()
    expect(await generations('jammy')).toHaveLength(8 + 1)
    await publisher.removeUnpublished('jammy')
    const kept = await generations('jammy')
    const revisions = kept.map((name) => Number(/^r(\d+)/.exec(name)?.[1])).sort((a, b) => a - b)
    expect(revisions).toEqual([22, 23, 24, 25, 26, 27, 28, 29, 30])
    for (const generation of kept) await isServed('jammy', generation)
    expect(house.errors).toEqual([])
  })

  test('holds by bytes, and what is kept can be fetched', async () => {
    await publishSome(house.publisher, 'jammy', 20)
    const all = await generations('jammy')
    const each = (await roomOf('jammy', all)) / all.length
    const publisher = house.addPublisher({ mostSuperseded: { number: 100, bytes: 7.5 * each, leastMs: 0 } })
    await publisher.removeUnpublished('jammy')
    const live = await linkedGeneration(house.tree('jammy').link)
    const kept = await generations('jammy')
    const superseded = kept.filter((name) => name !== live)
    expect(await roomOf('jammy', superseded)).toBeLessThanOrEqual(7.5 * each)
    expect(superseded.length).toBeGreaterThan(4)
    for (const generation of kept) await isServed('jammy', generation)
    expect(house.errors).toEqual([])
  })

  test('holds while large indexes are published, without waiting for the tenth', async () => {
    const publisher = house.addPublisher({ mostSuperseded: { number: 100, bytes: 8, leastMs: 0 } })
    await publishSome(publisher, 'jammy', 9)
    await publisher.saveBlocks()
    expect((await generations('jammy')).length).toBeLessThanOrEqual(4 + 1 + 1)
  })

  test('is lowered to the last four of every distribution when a publish finds the disk full', async () => {
    await publishSome(house.publisher, 'bookworm', 8)
    const room = 11
    const count = async () => (await generations('jammy')).length + (await generations('bookworm')).length
    const publisher = house.addPublisher({
      checkpoint(name) {
        if (name !== 'tree-linked') return
        const names = ['jammy', 'bookworm'].flatMap((codename) => readdirSync(house.tree(codename).base))
        if (names.filter((one) => /^r\d+-/.test(one)).length >= room)
          throw Object.assign(new Error('no room'), { code: 'ENOSPC' })
      },
    })
    await publishSome(publisher, 'jammy', 12)
    expect(await generations('bookworm')).toHaveLength(5)
    expect(await count()).toBeLessThanOrEqual(room)
    for (const codename of ['jammy', 'bookworm'])
      await isServed(codename, (await linkedGeneration(house.tree(codename).link)) ?? '')
  })
})

describe('package files of deleted records', () => {
  test('one that cannot be removed is reported once a run, and the others go', async () => {
    for (const name of ['a', 'b', 'c']) await house.addPackage('jammy', name)
    await house.publisher.converge('jammy')
    const { packages } = house.tree('jammy')
    const files = async () =>
      (await readdir(packages, { recursive: true })).filter((name) => name.endsWith('.deb')).sort()
    const before = await files()
    expect(before).toHaveLength(3)
    await sql`update offers set until_revision = 3, unlink_at = now() - interval '1 day' where name <> 'c'`.execute(
      house.db,
    )
    // The files are below directories named by digest, so they are in no order.
    const fileOf = (name: string) => before.find((path) => basename(path).startsWith(`${name}_`)) ?? ''
    // A directory in place of a file cannot be unlinked.
    await rm(join(packages, fileOf('a')))
    await mkdir(join(packages, fileOf('a')))
    await house.publisher.removeUnpublished('jammy')
    const left = await house.db.selectFrom('offers').select('name').where('unlink_at', 'is not', null).execute()
    expect(left).toEqual([{ name: 'a' }])
    expect(await files()).toEqual([fileOf('a'), fileOf('c')].sort())
    expect(house.errors).toHaveLength(1)
  })
})

describe('a link that a late publish makes to a package that another replica removed meanwhile', () => {
  async function removeByOther(): Promise<void> {
    await sql`update distributions set revision = revision + 1 where codename = 'jammy'`.execute(house.db)
    await sql`update offers set ended_at = now(), unlink_at = now() - interval '1 second',
      until_revision = (select revision from distributions where codename = 'jammy') where name = 'a'`.execute(house.db)
    await house.publisher.converge('jammy')
    await house.publisher.removeUnpublished('jammy')
  }
  const linked = async () =>
    (await readdir(house.tree('jammy').packages, { recursive: true }))
      .filter((name) => name.endsWith('.deb'))
      .map((path) => basename(path)[0])
      .sort()

  /** A publisher that makes its link of package `a` after the other replica removed the file. */
  function createLate({ dies = false } = {}): Publisher {
    let isFirst = true
    return house.addPublisher({
      pool: {
        ...house.deps.pool,
        async publish(file, target) {
          const isLate = isFirst && file.filename.startsWith('a_')
          if (isLate) {
            isFirst = false
            await removeByOther()
            await mkdir(dirname(target), { recursive: true })
          }
          const isNew = await house.deps.pool.publish(file, target)
          if (isLate && dies) throw new Error('killed')
          return isNew
        },
      },
    })
  }

  beforeEach(async () => {
    for (const name of ['a', 'b']) await house.addPackage('jammy', name)
  })

  test('is removed when the late publish ends', async () => {
    const late = createLate()
    await late.converge('jammy')
    await late.settled()
    expect(await linked()).toEqual(['b'])
    expect(house.errors).toEqual([])
  })

  test('is removed by the hourly collection of another replica when the late one died', async () => {
    await expect(createLate({ dies: true }).converge('jammy')).rejects.toThrow()
    expect(await linked()).toEqual(['a', 'b'])
    await house.publisher.collect()
    expect(await linked()).toEqual(['b'])
  })
})

describe('after a power loss', () => {
  test('a link that is older than the database is repaired by recovery', async () => {
    await publishNext('jammy', 'a')
    const tree = house.tree('jammy')
    const older = await readlink(tree.link)
    await publishNext('jammy', 'b')
    await symlink(older, `${tree.link}.old`)
    await rename(`${tree.link}.old`, tree.link)

    const restarted = house.addPublisher()
    expect(await restarted.recover()).toEqual([])
    const row = await house.db
      .selectFrom('distributions')
      .selectAll()
      .where('codename', '=', 'jammy')
      .executeTakeFirstOrThrow()
    expect(await linkedGeneration(tree.link)).toBe(row.generation)
    expect(await readlink(tree.link)).not.toBe(older)
  })

  test('a missing link beside apk packages is made again', async () => {
    await house.close()
    house = await createPublishingHouse(site.database, site.signers, ['alpine3.20'])
    await house.publisher.recover()
    const [index] = house.tree('alpine3.20').standing
    expect((await stat(index!.path)).size).toBeGreaterThan(0)
    await rm(index!.path)
    await house.publisher.recover()
    expect((await stat(index!.path)).size).toBeGreaterThan(0)
  })

  test('a missing link is made again', async () => {
    await publishNext('jammy', 'a')
    const { link } = house.tree('jammy')
    await rm(link)
    await house.publisher.recover()
    expect(await linkedGeneration(link)).toMatch(/^r\d+-/)
  })
})

describe('aliases of a distribution', () => {
  /** The house with other definitions, which are stored as at a start. */
  async function declare(aliases: Record<string, string[]>) {
    const offered = (codename: string) => {
      const { format, distribution } = house.deps.offered(codename)
      return { format, distribution: { ...distribution, aliases: aliases[codename] ?? [] } }
    }
    await ensureDistributions(house.db, house.clock, ['jammy', 'bookworm'].map(offered))
    return house.addPublisher({ offered })
  }
  const named = (name: string) => join(house.paths.root, 'dists', name)
  const codenameOf = async (name: string) =>
    /^Codename: (.+)$/m.exec(await readFile(join(named(name), 'Release'), 'utf8'))?.[1]

  test('show what the codename shows, by-hash too, from the same moment on', async () => {
    const publisher = await declare({ jammy: ['stable'] })
    await publisher.recover()
    await house.addPackage('jammy', 'a')
    await publisher.converge('jammy')
    expect(await readFile(join(named('stable'), 'InRelease'))).toEqual(
      await readFile(join(named('jammy'), 'InRelease')),
    )
    expect(await readdir(join(named('stable'), 'main/binary-amd64/by-hash/SHA256'))).toEqual(await byHash('jammy'))
    // One rename changes both.
    expect(await readlink(named('stable'))).toBe('jammy')
  })

  test('move to another distribution, and go when none has them', async () => {
    await (await declare({ jammy: ['stable', 'other'] })).recover()
    expect(await codenameOf('stable')).toBe('jammy')
    const publisher = await declare({ bookworm: ['stable'] })
    // Every client finds it meanwhile, whichever distribution is published first.
    await publisher.converge('jammy')
    expect(await codenameOf('stable')).toBe('jammy')
    await publisher.recover()
    expect(await codenameOf('stable')).toBe('bookworm')
    expect(await readdir(dirname(named('stable')))).not.toContain('other')
    expect(await codenameOf('jammy')).toBe('jammy')
  })

  test('that are lost are made again', async () => {
    const publisher = await declare({ jammy: ['stable'] })
    await publisher.recover()
    await rm(named('stable'))
    await publisher.recover()
    expect(await codenameOf('stable')).toBe('jammy')
  })

  test('never take the place of a codename that is served', async () => {
    await expect(declare({ jammy: ['bookworm'] })).rejects.toThrow(/the alias bookworm of jammy is the codename/)
  })

  test('of a distribution that is no longer declared go to the one that has them now', async () => {
    await declare({ jammy: ['stable', 'old'] })
    const { distribution } = house.deps.offered('bookworm')
    const former = await formerDistributions(house.db, [{ ...distribution, aliases: ['stable'] }])
    expect(former).toMatchObject([{ codename: 'jammy', aliases: ['old'] }])
  })
})

describe('while files are removed from the tree', () => {
  test('a publish waits for the end of the claim', async () => {
    await house.addPackage('jammy', 'a')
    await sql`update distributions set cleaning_token = 'other', cleaning_since = now(), cleanings = cleanings + 1`.execute(
      house.db,
    )
    let isPublished = false
    const published = house.publisher.converge('jammy').then(() => (isPublished = true))
    const row = () =>
      house.db.selectFrom('distributions').select('generation').where('codename', '=', 'jammy').executeTakeFirst()
    for (let n = 0; n < 20; n++) expect((await row())?.generation).toBeNull()
    expect(isPublished).toBe(false)
    await sql`update distributions set cleaning_token = null, cleaning_since = null`.execute(house.db)
    await published
    expect((await row())?.generation).not.toBeNull()
  })

  test('a publish that began before the claim is made again', async () => {
    await house.addPackage('jammy', 'a')
    let claims = 0
    const written: string[] = []
    const publisher = house.addPublisher({
      checkpoint: (name) => {
        if (name === 'before-flip') written.push(name)
      },
      signers: {
        ...house.deps.signers,
        openpgp: {
          ...house.deps.signers.openpgp,
          async clearsign(text, at) {
            if (claims++ === 0)
              await sql`update distributions set cleanings = cleanings + 1 where codename = 'jammy'`.execute(house.db)
            return house.deps.signers.openpgp.clearsign(text, at)
          },
        },
      },
    })
    await publisher.converge('jammy')
    expect(written).toHaveLength(2)
    expect(await generations('jammy')).toHaveLength(1)
  })
})

describe('memory', () => {
  test('holds the blocks of the distribution published last, and as many others as the budget allows', async () => {
    const publisher = house.addPublisher({ keptBytes: 0 })
    for (const codename of ['jammy', 'bookworm']) {
      await house.addPackage(codename, 'a')
      await publisher.converge(codename)
    }
    await publisher.saveBlocks()
    // Dropped blocks were saved before: jammy continues from its file, not from the database.
    const cache = join(house.tree('jammy').base, 'blocks.cache')
    expect((await stat(cache)).size).toBeGreaterThan(0)
    await house.db.deleteFrom('offer_entries').execute()
    await house.addPackage('jammy', 'b')
    await publisher.converge('jammy')
    const { link } = house.tree('jammy')
    const index = join(dirname(link), await readlink(link))
    const release = (await readdir(index, { recursive: true })).filter((name) => name.endsWith('Packages.gz'))
    expect(release).toHaveLength(1)
    const text = gunzipSync(await readFile(join(index, release[0] ?? ''))).toString()
    expect(text.match(/^Package: /gm)).toHaveLength(2)
  })
})

test('files of dead processes go with the sweep', async () => {
  await publishNext('jammy', 'a')
  const { base } = house.tree('jammy')
  await writeFile(join(base, 'blocks.cache.0123456789ab.tmp'), 'half')
  house.clock.advance(GRACE_MS + MINUTE)
  await house.publisher.collect()
  expect(await readdir(base)).not.toContain('blocks.cache.0123456789ab.tmp')
})
