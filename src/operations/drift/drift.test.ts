// Damage in every place that the scan checks: each is exactly one finding, with the result of its repair. Uses PGlite and a
// real tree.
import { createHash } from 'node:crypto'
import { existsSync, readlinkSync } from 'node:fs'
import {
  chmod,
  copyFile,
  link,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { AuditEvent } from '../../domain/audit.ts'
import type { TaskContext } from '../../domain/tasks.ts'
import { findDistribution } from '../../formats/index.ts'
import { ensureContent } from '../../kernel/files.ts'
import { createPublishingHouse, openSite, type PublishingHouse, type Site } from '../../publish/publisher.fixture.ts'
import { createPendingDeletions } from '../../packages/records/pending-deletions.ts'
import { quarantine } from '../../review/quarantine.ts'
import { openAuditKey } from '../../publish/signing/audit-keys.ts'
import { createMemoryStore, type MemoryStore } from '../../store/objects/memory-store.fixture.ts'
import { linkTarget, objectName, StorageUnavailable, type ObjectStore } from '../../store/objects/object-store.ts'
import { createManifests } from '../../packages/records/manifests.ts'
import { createAuditFiles } from './audit-files.ts'
import { createConfirm, createInspections, driftState, type DriftDeps } from './drift.ts'
import { createHashing } from './hashing.ts'
import { realReaders } from '../../formats/readers/fixture.ts'
import { createOwnSignatures } from './own-signatures.ts'
import type { RemedyDeps } from './remedies.ts'
import { driftRepairKind, type RepairResult } from './repair.ts'
import { driftScanKind } from './scan.ts'

/** of bookworm */
const FORMAT = findDistribution('bookworm')!.format.id

let site: Site
let house: PublishingHouse
let deps: DriftDeps & RemedyDeps
let events: AuditEvent[]

beforeAll(async () => {
  site = await openSite()
})
afterAll(() => Promise.all([site.close(), readers.close()]))
const readers = realReaders('/nowhere', { mostReaders: 1 })
beforeEach(() => open(null))
afterEach(() => house.close())

/** @param store keeps the packages, instead of the disk */
async function open(store: ObjectStore | null): Promise<void> {
  await site.database.db.deleteFrom('drift').execute()
  house = await createPublishingHouse(site.database, site.signers, ['jammy', 'bookworm'], new Date(), store)
  const { paths, db, clock } = house
  for (const name of ['signing-key.asc', 'svc.rsa']) await copyFile(join(site.keys, name), join(paths.gnupg, name))
  await openAuditKey(paths.gnupg)
  await ensureContent(join(paths.keys, 'gpg.key'), site.signers.openpgp.publicKeyArmored)
  await ensureContent(join(paths.keys, site.signers.apk.keyName), site.signers.apk.publicKeyPem)
  await writeFile(paths.settings, '{}', { mode: 0o600 })
  const manifests = createManifests(db, paths)
  deps = {
    ...{ db, clock, paths, manifests, keys: site.signers, pool: house.deps.pool, local: house.local, store },
    all: ['jammy', 'bookworm'].map(house.deps.offered),
    hashing: createHashing(1e12),
    signatures: createOwnSignatures(site.signers, clock, readers),
    auditFiles: createAuditFiles({
      db,
      clock,
      paths,
      auditLog: { key: 'k', isSigned: async () => false, settle: async () => {} },
    }),
    quarantine: (record, reason, by) =>
      quarantine(
        {
          ...house.deps,
          ...{ publisher: house.publisher, manifests, audit: house.audit },
          pendingDeletions: createPendingDeletions({ ...house.deps, manifests }),
        },
        record,
        reason,
        { name: by, origin: { ip: null, requestId: null } },
      ),
  }
  events = []
  for (const name of ['alpha', 'beta']) await house.addPackage('bookworm', name)
  await house.publisher.converge('bookworm')
  await manifests.catchUp()
  // The scan does not compare digests of files that were stored after it began.
  clock.advance(60_000)
}

/** Runs a scan to its end. @returns the open findings */
async function scan(): Promise<string[]> {
  house.clock.advance(1000)
  const kind = driftScanKind({
    ...deps,
    inspections: createInspections(deps),
    confirm: createConfirm(deps),
    audit: { record: async (event) => void events.push(...[event].flat()) },
  })
  await kind.run(context({}))
  const rows = await deps.db.selectFrom('drift').selectAll().where('resolved_at', 'is', null).execute()
  return rows.map(({ area, fault, subject }) => `${area} ${fault} ${subject}`)
}

const context = (args: TaskContext['arguments']) =>
  ({
    arguments: args,
    cursor: null,
    save: async () => {},
    line: () => {},
    signal: new AbortController().signal,
  }) as Partial<TaskContext> as TaskContext

async function repair(isDryRun = false, most = 100) {
  const kind = driftRepairKind({
    remedies: deps,
    confirm: createConfirm(deps),
    audit: { record: async (event) => void events.push(...[event].flat()) },
    publisher: house.publisher,
  })
  return (await kind.run(context({ by: 'admin', dry_run: isDryRun, max_removed: most }))) as unknown as RepairResult
}

/** The stored file of a package: its path in the pool and in the tree. */
async function fileOf(name: string) {
  const row = await deps.db
    .selectFrom('offers')
    .select(['sha256', 'filename', 'arch'])
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  const { format, distribution } = house.deps.offered('bookworm')
  const [path = ''] = format.packagePaths(row, distribution)
  return { stored: deps.local.path({ ...row, format: format.id }), linked: join(house.tree('bookworm').packages, path) }
}

async function flipByte(path: string): Promise<void> {
  const bytes = await readFile(path)
  bytes[bytes.length >> 1]! ^= 1
  await writeFile(path, bytes)
}

const live = (path: string) => {
  const { base, link: name } = house.tree('bookworm')
  const generation = readlinkSync(name)
    .split('/')
    .find((part) => /^r\d+-/.test(part))!
  return join(base, generation, path)
}
const manifestOf = (name: string) =>
  join(deps.paths.manifests, deps.manifests.key({ distribution: 'bookworm', name, version: '1.0', arch: 'amd64' }))

test('an undamaged repository has no findings', async () => {
  expect(await scan()).toEqual([])
  expect(events).toEqual([])
})

const LIVE = 'dists/bookworm'

describe('one finding for', () => {
  test.each<[string, string, string, () => Promise<string>]>([
    [
      'a flipped byte in the pool',
      'pool wrong_content',
      'quarantine',
      async () => {
        const { stored } = await fileOf('alpha')
        await flipByte(stored)
        return stored
      },
    ],
    [
      'a truncated file in the pool',
      'pool wrong_size',
      'quarantine',
      async () => {
        const { stored } = await fileOf('alpha')
        await writeFile(stored, 'al')
        return stored
      },
    ],
    [
      'a deleted file of the pool',
      'pool missing',
      'restore',
      async () => {
        const { stored } = await fileOf('alpha')
        await rm(stored)
        return stored
      },
    ],
    [
      'an unknown file in the pool',
      'pool unknown',
      'delete',
      async () => {
        const path = deps.local.path({ format: FORMAT, sha256: 'ab'.repeat(32), filename: 'gamma.deb' })
        await mkdir(dirname(path), { recursive: true })
        await writeFile(path, 'bytes')
        return path
      },
    ],
    [
      'a second file beside a stored one',
      'pool unknown',
      'delete',
      async () => {
        const path = join(dirname((await fileOf('alpha')).stored), 'other.deb')
        await writeFile(path, 'bytes')
        return path
      },
    ],
    [
      'a file outside the layout of the pool',
      'pool unknown',
      'delete',
      async () => {
        const path = join(deps.paths.pool, 'notes.txt')
        await writeFile(path, 'bytes')
        return path
      },
    ],
    [
      'an unknown file in quarantine',
      'quarantine unknown',
      'delete',
      async () => {
        const path = deps.local.quarantinePath({ format: FORMAT, sha256: 'ab'.repeat(32), filename: 'gamma.deb' })
        await mkdir(dirname(path), { recursive: true })
        await writeFile(path, 'bytes')
        return path
      },
    ],
    [
      'a deleted link in the tree',
      'tree missing',
      'rebuild',
      async () => {
        const { linked } = await fileOf('alpha')
        await rm(linked)
        return linked
      },
    ],
    [
      'a link that leads to other bytes',
      'tree wrong_link',
      'rebuild',
      async () => {
        const { linked } = await fileOf('alpha')
        await rm(linked)
        await link((await fileOf('beta')).stored, linked)
        return linked
      },
    ],
    [
      'an unknown file among the packages',
      'tree unknown',
      'delete',
      async () => {
        const path = join(house.tree('bookworm').packages, 'ab', 'cd', 'gamma.deb')
        await mkdir(dirname(path), { recursive: true })
        await writeFile(path, 'bytes')
        return path
      },
    ],
    ...['Release', 'Release.gpg', 'InRelease', 'main/binary-amd64/Packages.gz'].flatMap(
      (name): [string, string, string, () => Promise<string>][] => [
        [
          `a deleted ${name}`,
          'index missing',
          'rebuild',
          async () => {
            await rm(live(name))
            return join(deps.paths.root, LIVE, name)
          },
        ],
        [
          `a flipped byte in ${name}`,
          'index wrong_content',
          'rebuild',
          async () => {
            await flipByte(live(name))
            return join(deps.paths.root, LIVE, name)
          },
        ],
      ],
    ),
    [
      'a deleted file under by-hash',
      'index missing',
      'rebuild',
      async () => {
        const directory = join(house.tree('bookworm').byHash, 'SHA256')
        const digest = createHash('sha256')
          .update(await readFile(live('main/binary-amd64/Packages.xz')))
          .digest('hex')
        await rm(join(directory, digest))
        return join(directory, digest)
      },
    ],
    [
      'an unknown file beside the index',
      'index unknown',
      'rebuild',
      async () => {
        await writeFile(live('main/binary-amd64/Packages.bz2'), 'bytes')
        return join(deps.paths.root, LIVE, 'main/binary-amd64/Packages.bz2')
      },
    ],
    [
      'a link to a generation that is not live',
      'index wrong_link',
      'rebuild',
      async () => {
        const { link: name } = house.tree('bookworm')
        await rename(live(''), live('').replace(/\/r\d+/, '/r0'))
        return name
      },
    ],
    [
      'a deleted manifest',
      'manifests missing',
      'write',
      async () => {
        await rm(manifestOf('alpha'))
        return manifestOf('alpha')
      },
    ],
    [
      'a manifest that says something else',
      'manifests wrong_content',
      'write',
      async () => {
        const text = await readFile(manifestOf('alpha'), 'utf8')
        await writeFile(manifestOf('alpha'), text.replace('"status":"published"', '"status":"rejected"'))
        return manifestOf('alpha')
      },
    ],
    [
      'an unknown manifest',
      'manifests unknown',
      'none',
      async () => {
        await copyFile(manifestOf('alpha'), manifestOf('alphabet'))
        return manifestOf('alphabet')
      },
    ],
    [
      'a private key that others can read',
      'keys wrong_mode',
      'write',
      async () => {
        await chmod(join(deps.paths.gnupg, 'signing-key.asc'), 0o644)
        return join(deps.paths.gnupg, 'signing-key.asc')
      },
    ],
    [
      'a public key that is not ours',
      'keys wrong_content',
      'write',
      async () => {
        await flipByte(join(deps.paths.keys, 'gpg.key'))
        return join(deps.paths.keys, 'gpg.key')
      },
    ],
    [
      'settings that cannot be read',
      'settings wrong_content',
      'none',
      async () => {
        await writeFile(deps.paths.settings, '{')
        return deps.paths.settings
      },
    ],
  ])('%s: %s, repaired by %s', async (_, expected, action, damage) => {
    const path = await damage()
    const found = `${expected} ${relative(deps.paths.root, path)}`
    expect(await scan()).toEqual([found])
    expect((await repair(true)).results).toMatchObject([{ action, resolved: null }])
    const { findings, results } = await repair()
    expect(findings).toBe(1)
    expect(results).toMatchObject([{ action, resolved: action !== 'none' }])
    const left = await scan()
    if (action === 'none') expect(left).toEqual([found])
    // The package is lost: that stays a finding until the package is deleted.
    else if (action === 'quarantine') expect(left).toEqual([expect.stringMatching(/^quarantine missing /)])
    else expect(left).toEqual([])
  })
})

test('a finding is reported once, resolved when it is gone, and reported again when it comes back', async () => {
  const { linked, stored } = await fileOf('alpha')
  expect(await driftState(deps.db, deps.clock)).toMatchObject({ status: 'unknown' })
  await rm(linked)
  await scan()
  await scan()
  expect(events).toMatchObject([
    { action: 'INTEGRITY_ALERT', result: 'FAILURE', extra: { findings: 1, first: [{ fault: 'missing' }] } },
  ])
  await link(stored, linked)
  expect(await scan()).toEqual([])
  expect(await deps.db.selectFrom('drift').select('resolution').execute()).toEqual([{ resolution: 'gone' }])
  await rm(linked)
  await scan()
  expect(events).toHaveLength(2)
})

test('bytes that an upload has placed and not committed are no finding', async () => {
  const sha256 = 'cd'.repeat(32)
  const path = deps.local.path({ format: FORMAT, sha256, filename: 'new.deb' })
  const staged = join(deps.paths.incoming, 'process', `upload.deb.${sha256}`)
  for (const one of [path, staged]) {
    await mkdir(dirname(one), { recursive: true })
    await writeFile(one, 'bytes')
  }
  expect(await scan()).toEqual([])
  await rm(staged)
  expect(await scan()).toHaveLength(1)
})

test('bytes and manifests that a deletion is about to remove are no findings', async () => {
  const { stored } = await fileOf('alpha')
  const sha256 = stored.split('/').at(-2)!
  await rm(stored)
  await rm(manifestOf('alpha'))
  await deps.db
    .insertInto('pending_deletions')
    .values([
      { kind: 'file', key: sha256 },
      { kind: 'manifest', key: relative(deps.paths.manifests, manifestOf('alpha')) },
    ])
    .execute()
  expect(await scan()).toEqual([])
  await deps.db.deleteFrom('pending_deletions').execute()
  expect(await scan()).toHaveLength(2)
})

test('a package that was accepted and is not published yet is no finding', async () => {
  await house.addPackage('bookworm', 'gamma')
  expect(await scan()).toEqual([])
})

test('the files of a superseded generation are not looked at', async () => {
  const old = live('InRelease')
  await house.addPackage('bookworm', 'gamma')
  await house.publisher.converge('bookworm')
  await rm(old)
  expect(await scan()).toEqual([])
  expect((await readdir(house.tree('bookworm').base)).filter((name) => /^r\d/.test(name))).toHaveLength(2)
})

test('damaged bytes are replaced by a good copy, in the pool and in the tree', async () => {
  const { stored, linked } = await fileOf('alpha')
  const good = await readFile(stored)
  const [sha256 = ''] = stored.split('/').slice(-2)
  const copy = deps.local.quarantinePath({ format: FORMAT, sha256, filename: stored.split('/').at(-1)! })
  await flipByte(stored)
  await mkdir(dirname(copy), { recursive: true })
  await writeFile(copy, good)
  expect(await scan()).toHaveLength(2)
  expect((await repair()).resolved).toBe(2)
  expect(await readFile(stored)).toEqual(good)
  expect(await readFile(linked)).toEqual(good)
  expect(await scan()).toEqual([])
})

test('a lost package leaves the index and the tree, and the others stay', async () => {
  const { stored, linked } = await fileOf('alpha')
  await flipByte(stored)
  await scan()
  await repair()
  const index = gunzipSync(await readFile(live('main/binary-amd64/Packages.gz'))).toString()
  expect(index.match(/^Package: .*$/gm)).toEqual(['Package: beta'])
  expect(existsSync(linked)).toBe(false)
  const records = await deps.db.selectFrom('packages').select(['name', 'status']).orderBy('name').execute()
  expect(records).toEqual([
    { name: 'alpha', status: 'quarantined' },
    { name: 'beta', status: 'published' },
  ])
  expect(events.at(-1)).toMatchObject({ action: 'DRIFT_REPAIR', user: 'admin' })
})

test('several lost packages of one distribution do not keep each other from being repaired', async () => {
  for (const name of ['alpha', 'beta']) {
    const { stored, linked } = await fileOf(name)
    await rm(stored)
    await rm(linked)
  }
  expect(await scan()).toHaveLength(4)
  await repair()
  expect(await scan()).toEqual([expect.stringMatching(/^quarantine/), expect.stringMatching(/^quarantine/)])
})

test('more lost or unknown files than allowed are left alone: the disk may not be mounted', async () => {
  for (const name of ['alpha', 'beta']) await flipByte((await fileOf(name)).stored)
  for (const name of ['one', 'two']) await writeFile(join(house.tree('bookworm').packages, name), 'bytes')
  expect(await scan()).toHaveLength(4)
  expect((await repair(false, 1)).results.map(({ action }) => action)).toEqual(Array(4).fill('none'))
  expect((await repair(true, 2)).results.map(({ action }) => action).sort()).toEqual([
    ...['delete', 'delete', 'quarantine', 'quarantine'],
  ])
})

describe('packages in an object store:', () => {
  let store: MemoryStore
  beforeEach(async () => {
    await house.close()
    store = createMemoryStore()
    await open(store)
  })

  const shaOf = async (name: string) => (await fileOf(name)).stored.split('/').at(-2)!
  const keyOf = async (name: string) => `${FORMAT}/${await shaOf(name)}`
  const change = (key: string, change: (bytes: Buffer) => Buffer) =>
    store.objects.set(key, change(store.objects.get(key)!))

  test('an undamaged repository has no findings, and other objects of the bucket are not looked at', async () => {
    store.objects.set('installation', Buffer.from('note'))
    store.objects.set(`${FORMAT}/notes.txt`, Buffer.from('bytes'))
    expect(await scan()).toEqual([])
  })

  test.each<[string, string, string, () => Promise<string>]>([
    [
      'a deleted object',
      'pool missing',
      'quarantine',
      async () => {
        store.objects.delete(await keyOf('alpha'))
        return `object:${await keyOf('alpha')}`
      },
    ],
    [
      'a truncated object',
      'pool wrong_size',
      'quarantine',
      async () => {
        change(await keyOf('alpha'), (bytes) => bytes.subarray(1))
        return `object:${await keyOf('alpha')}`
      },
    ],
    [
      'a flipped byte in an object',
      'pool wrong_content',
      'quarantine',
      async () => {
        change(await keyOf('alpha'), (bytes) => Buffer.from([bytes[0]! ^ 1, ...bytes.subarray(1)]))
        return `object:${await keyOf('alpha')}`
      },
    ],
    [
      'an object that nothing needs',
      'pool unknown',
      'delete',
      async () => {
        for (const [byte, format] of [
          ['00', FORMAT],
          ['ff', FORMAT],
        ] as const)
          store.objects.set(`${format}/${byte.repeat(32)}`, Buffer.from('bytes'))
        await deps.db
          .insertInto('pending_deletions')
          .values({ kind: 'file', key: '00'.repeat(32) })
          .execute()
        return objectName({ format: FORMAT, sha256: 'ff'.repeat(32) })
      },
    ],
    [
      'a deleted link in the tree',
      'tree missing',
      'rebuild',
      async () => {
        const { linked } = await fileOf('alpha')
        await rm(linked)
        return relative(deps.paths.root, linked)
      },
    ],
    [
      'a link to another object',
      'tree wrong_link',
      'rebuild',
      async () => {
        const { linked } = await fileOf('alpha')
        await rm(linked)
        await symlink(await readlink((await fileOf('beta')).linked), linked)
        return relative(deps.paths.root, linked)
      },
    ],
    [
      'a link with another size',
      'tree wrong_link',
      'rebuild',
      async () => {
        const { linked } = await fileOf('alpha')
        await rm(linked)
        await symlink(linkTarget({ format: FORMAT, sha256: await shaOf('alpha'), sizeBytes: 1 }), linked)
        return relative(deps.paths.root, linked)
      },
    ],
    [
      'a link that no package has',
      'tree unknown',
      'delete',
      async () => {
        const path = join(house.tree('bookworm').packages, 'ab', 'cd', 'gamma.deb')
        await mkdir(dirname(path), { recursive: true })
        await symlink(linkTarget({ format: FORMAT, sha256: await shaOf('alpha'), sizeBytes: 1 }), path)
        return relative(deps.paths.root, path)
      },
    ],
  ])('one finding for %s: %s, repaired by %s', async (_, expected, action, damage) => {
    const before = new Map(store.objects)
    const { linked } = await fileOf('alpha')
    const target = await readlink(linked)
    const found = `${expected} ${await damage()}`
    expect(await scan()).toEqual([found])
    expect((await repair()).results).toMatchObject([{ action, resolved: true }])
    if (action === 'quarantine') {
      expect(await scan()).toEqual([expect.stringMatching(/^quarantine missing /)])
      expect([...store.objects.keys()]).toEqual([await keyOf('beta')])
      expect(existsSync(linked)).toBe(false)
      return
    }
    expect(await scan()).toEqual([])
    expect(await readlink(linked)).toBe(target)
    // Objects that nothing needs are removed; the object of a pending deletion is left to that deletion.
    store.objects.delete(`${FORMAT}/${'00'.repeat(32)}`)
    expect(store.objects).toEqual(before)
  })

  test.each(['pool', 'quarantine'] as const)(
    'what is lost in the %s is restored from the other place',
    async (lost) => {
      const { stored } = await fileOf('alpha')
      const file = { format: FORMAT, sha256: await shaOf('alpha'), filename: stored.split('/').at(-1)! }
      const good = store.objects.get(await keyOf('alpha'))!
      const copy = deps.local.quarantinePath(file)
      await mkdir(dirname(copy), { recursive: true })
      if (lost === 'pool') {
        await writeFile(copy, good)
        change(await keyOf('alpha'), (bytes) => bytes.subarray(1))
      } else {
        await writeFile(copy, 'damaged')
        // One record is published and another one is refused, so both places need the bytes.
        const { id: _, ...record } = await deps.db
          .selectFrom('packages')
          .selectAll()
          .where('name', '=', 'alpha')
          .executeTakeFirstOrThrow()
        await deps.db
          .insertInto('packages')
          .values({ ...record, distribution: 'jammy', status: 'quarantined' } as never)
          .execute()
        await deps.manifests.catchUp()
      }
      expect(await scan()).toContainEqual(expect.stringMatching(new RegExp(`^${lost} wrong_size`)))
      await repair()
      expect(store.objects.get(await keyOf('alpha'))).toEqual(good)
      if (lost === 'quarantine') expect(await readFile(copy)).toEqual(good)
      expect(await scan()).toEqual([])
      // The fixture's own staged files are named by their digests.
      expect((await readdir(deps.paths.incoming)).filter((name) => name.includes('-'))).toEqual([])
    },
  )

  test('a store that does not answer ends the scan, and nothing is reported as lost', async () => {
    const away = new StorageUnavailable('the object store does not answer', false)
    store.size = () => Promise.reject(away)
    await expect(scan()).rejects.toBe(away)
    expect(await deps.db.selectFrom('drift').select('subject').execute()).toEqual([])
  })
})
