// Signing stored packages again, with a real database, pool, publisher and key.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { bin, buildRpm, type SampleRpm } from '../../test/samples/rpm.ts'
import { findDistribution, formats } from '../formats/index.ts'
import type { Offered } from '../formats/format.ts'
import { rpmFormat } from '../formats/rpm/index.ts'
import { readRpmLayout } from '../formats/rpm/open.ts'
import { isoTime } from '../kernel/clock.ts'
import { measure } from '../kernel/digests.ts'
import { createPublishingHouse, openSite, type PublishingHouse, type Site } from '../publish/publisher.fixture.ts'
import { renderNew } from '../packages/records/entries.ts'
import { insertRecords } from '../packages/records/insert-records.ts'
import { blobRow } from '../packages/records/stored-file.ts'
import { openKeys } from '../publish/signing/keys.ts'
import { createStaging, type Staging } from '../store/files/staging.ts'
import { createManifests, type Manifests } from '../packages/records/manifests.ts'
import { signAgain as migration } from '../store/migrations/0017-sign-again.ts'
import { SIGN_AGAIN, signAgain, type SignAgainDeps } from './sign-again.ts'

const OLD: SampleRpm = { tags: { 5092: null, 5093: null, 5097: null } }
const CODENAMES = ['almalinux9', 'rocky9']

let site: Site
let house: PublishingHouse
let staging: Staging
let manifests: Manifests
let lines: string[]
let saved: unknown

beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())
beforeEach(async () => {
  house = await createPublishingHouse(site.database, site.signers, CODENAMES)
  const { db, clock, paths, local: pool } = house
  staging = createStaging({ db, clock, paths, pool, exclusive: true })
  await staging.register()
  manifests = createManifests(db, paths)
  lines = []
  saved = null
})
afterEach(() => house.close())

const deps = (): SignAgainDeps => ({
  ...{ db: house.db, audit: house.audit, pool: house.local, staging, manifests, publisher: house.publisher },
  ...{ signers: site.signers, clock: house.clock, newPath: staging.newPath, formats, find: findDistribution },
  onError: (error) => {
    throw error
  },
})
const run = (cursor: unknown = null, signal = new AbortController().signal) =>
  signAgain(deps(), {
    cursor,
    save: (state) => Promise.resolve(void (saved = state)),
    line: (text) => void lines.push(text),
    signal,
  })

/** As builds of before signed it: over the header alone, whatever that says of the payload. */
async function signedWrongly(sample: SampleRpm): Promise<Buffer> {
  const path = staging.newPath()
  await writeFile(path, await buildRpm(sample))
  const { header } = await readRpmLayout(path)
  const packet = await site.signers.openpgp.detachBinary(header.bytes, house.clock.now())
  return buildRpm({ ...sample, signatureTags: { 268: bin(packet) } })
}

async function signedWith(keys: SignAgainDeps['signers'], sample: SampleRpm): Promise<Buffer> {
  const [from, to] = [staging.newPath(), staging.newPath()]
  await writeFile(from, await buildRpm(sample))
  await rpmFormat.sign!(from, to, keys, house.clock.now())
  return readFile(to)
}

async function stored(
  bytes: Uint8Array,
  codename = 'almalinux9',
  status: 'published' | 'pending_review' = 'published',
) {
  const { db, clock, local: pool, audit } = house
  const path = staging.newPath()
  await writeFile(path, bytes)
  const facts = await rpmFormat.read(path)
  const { digests, sizeBytes } = await measure(path)
  const filename = rpmFormat.filename(facts)
  const blob = blobRow({ digests, filename, sizeBytes }, facts, clock.now())
  const offered = findDistribution(codename) as Offered
  const { name, version, arch } = facts
  const row = { imported_at: clock.now() }
  const [outcome] = await insertRecords(db, audit, offered, [
    {
      ensureBytes: () => pool.keep(path, { format: 'rpm', sha256: digests.sha256, filename }),
      audit: { action: 'UPLOAD', result: 'SUCCESS', user: 'test' },
      blob,
      evidence: [],
      review: null,
      entries: status === 'published' ? await renderNew(row, blob, facts, offered) : [],
      record: {
        ...{ distribution: codename, format: 'rpm', name, version, arch, status, ...row },
        ...{ cve_status: 'approved', held_reason: status === 'published' ? null : 'unscanned' },
        ...{ sha256: digests.sha256, received_sha256: digests.sha256, imported_by: 'test', import_method: 'upload' },
        ...{ pipeline: '{}', validation_steps: '[]', coverage: '{}', deps_missing: '[]', tags: '[]' },
      },
    },
  ])
  if (!outcome || outcome instanceof Error) throw new Error('the record was not inserted', { cause: outcome })
  clock.advance(1000)
  return digests.sha256
}

const rows = () => house.db.selectFrom('records').selectAll().orderBy('distribution').orderBy('name').execute()

/** What clients of a distribution read of its packages. */
async function primaryOf(codename: string): Promise<string> {
  const root = join(house.paths.root, 'rpm', codename, 'x86_64')
  const repomd = await readFile(join(root, 'repodata/repomd.xml'), 'utf8')
  const [, href] = /href="([^"]*primary\.xml\.gz)"/.exec(repomd)!
  return gunzipSync(await readFile(join(root, href!))).toString()
}

test('a file that clients refuse is signed again, once for all its records, and clients are offered the new one', async () => {
  const bytes = await signedWrongly({ ...OLD, name: 'old' })
  const before = await stored(bytes)
  await stored(bytes, 'rocky9')
  for (const codename of CODENAMES) await house.publisher.converge(codename)

  const result = await run()
  expect(result).toMatchObject({ looked_at: 1, signed_again: 1, failed: 0 })
  expect(lines.at(-1)).toBe('1 files with our signature looked at, 1 signed again, 0 failed')
  const [first, second] = await rows()
  expect(first!.sha256).not.toBe(before)
  expect(second!.sha256).toBe(first!.sha256)
  expect(first).toMatchObject({ status: 'published', served: true, received_sha256: before })
  const path = house.local.path(first!)
  expect(await rpmFormat.verifySignature!(path, [site.signers.openpgp.publicKeyArmored])).toMatchObject({
    outcome: 'verified',
  })
  for (const codename of CODENAMES) {
    const primary = await primaryOf(codename)
    expect(primary).toContain(first!.sha256)
    expect(primary).not.toContain(before)
  }
  const manifest = await manifests.read(manifests.key(first!))
  expect(manifest).toMatchObject({ record: { sha256: first!.sha256 }, blob: { sha256: first!.sha256 } })
  // Clients with the index of before may still fetch the old file for a while.
  const offers = await house.db.selectFrom('offers').select(['sha256', 'unlink_at', 'until_revision']).execute()
  expect(offers.filter(({ until_revision }) => until_revision === null).map(({ sha256 }) => sha256)).toEqual([
    first!.sha256,
    first!.sha256,
  ])
  expect(offers.filter(({ sha256 }) => sha256 === before).every(({ unlink_at }) => unlink_at! > new Date())).toBe(true)
  const { size_bytes } = await house.db
    .selectFrom('distributions')
    .select('size_bytes')
    .where('codename', '=', 'almalinux9')
    .executeTakeFirstOrThrow()
  expect(size_bytes).toBe(first!.size_bytes)
})

test('a held file is signed again and stays held', async () => {
  const before = await stored(await signedWrongly({ ...OLD, name: 'held' }), 'almalinux9', 'pending_review')
  expect(await run()).toMatchObject({ signed_again: 1 })
  const [row] = await rows()
  expect(row!.sha256).not.toBe(before)
  expect(row).toMatchObject({ status: 'pending_review', served: false, held_reason: 'unscanned' })
  expect(await house.db.selectFrom('offers').select('sha256').execute()).toEqual([])
})

test('a file that is signed well, by others, or not at all keeps its bytes, and a second run changes nothing', async () => {
  const others = await openKeys(join(house.paths.root, 'others'), house.clock.now())
  const kept = [
    await stored(await signedWith(site.signers, { name: 'new' })),
    await stored(await signedWith(site.signers, { ...OLD, name: 'old-signed-well' })),
    await stored(await signedWith(others, { ...OLD, name: 'vendor' })),
    await stored(await buildRpm({ ...OLD, name: 'unsigned' })),
  ]
  await stored(await signedWrongly({ ...OLD, name: 'wrong' }))
  expect(await run()).toMatchObject({ looked_at: 3, signed_again: 1 })
  const after = (await rows()).map(({ sha256 }) => sha256)
  expect(after).toEqual(expect.arrayContaining(kept))
  house.clock.advance(1000)
  expect(await run()).toMatchObject({ looked_at: 3, signed_again: 0 })
  expect((await rows()).map(({ sha256 }) => sha256)).toEqual(after)
})

test('a run that was interrupted continues behind its cursor', async () => {
  const digests = [
    await stored(await signedWrongly({ ...OLD, name: 'one' })),
    await stored(await signedWrongly({ ...OLD, name: 'two' })),
  ].sort()
  await run({ after: digests[0]!, began_at: isoTime(house.clock.now()), looked_at: 1, signed_again: 1, failed: 0 })
  expect(saved).toMatchObject({ looked_at: 2, signed_again: 2 })
  const now = (await rows()).map(({ sha256 }) => sha256)
  expect(now).toContain(digests[0])
  expect(now).not.toContain(digests[1])

  const stopped = new AbortController()
  stopped.abort(new Error('stopped'))
  await expect(run(null, stopped.signal)).rejects.toThrow('stopped')
  expect((await rows()).map(({ sha256 }) => sha256)).toEqual(now)
})

test('a file whose bytes are gone is named, and the others are signed', async () => {
  const gone = await stored(await signedWrongly({ ...OLD, name: 'gone' }))
  const [row] = await rows()
  await house.publisher.converge('almalinux9')
  await house.local.forgetAll('rpm', gone)
  await stored(await signedWrongly({ ...OLD, name: 'here' }))
  expect(await run()).toMatchObject({ looked_at: 2, signed_again: 1, failed: 1 })
  expect(lines).toContain(`${row!.filename} could not be signed again: its bytes are gone`)
})

test('an upgrade asks for it where there are packages, and only there', async () => {
  const { db } = house
  const queued = () => db.selectFrom('tasks').select(['kind', 'state']).execute()
  await migration.up(db)
  expect(await queued()).toEqual([])
  await stored(await signedWrongly({ ...OLD, name: 'old' }))
  await migration.up(db)
  expect(await queued()).toEqual([{ kind: SIGN_AGAIN, state: 'queued' }])
})
