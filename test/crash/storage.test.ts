// A disk that is full at each write of an upload, and a read-only pool: uploads are refused and leave nothing behind.
import { randomBytes } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { mkdir, readFile, rename, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FEWEST } from '../../src/publish/tree/superseded.ts'
import { openDatabase, type Db } from '../../src/store/db.ts'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'
import { createInstallations, type Installation, type Installations } from './installations.ts'
import { readRepository, readHttp } from './read-repository.ts'
import { bindMount, mountSmallDisk, type SmallDisk } from './mounts.ts'
import { examine } from './state.ts'

let installations: Installations
let installation: Installation
let publicKey: string
beforeAll(async () => {
  installations = await createInstallations('postgres')
})
afterAll(() => installations?.remove())
beforeEach(async () => {
  installation = await installations.copy()
  publicKey = await readFile(join(installation.reposDir, 'keys', 'gpg.key'), 'utf8')
})

const offered = async (service: Service, codename: string) => [
  ...(await readRepository(readHttp(service), codename, publicKey)).packages.keys(),
]

/** Checks that the upload was refused with one of the codes and is not listed anywhere. */
async function expectRefused(
  service: Service,
  answer: { status: number; body: any },
  name: string,
  codes: string[],
): Promise<void> {
  expect(answer.status).toBe(500)
  expect(codes).toContain(answer.body.code)
  expect(typeof answer.body.detail).toBe('string')
  expect((await service.call('GET', `/artifacts/${name}`)).status).toBe(404)
  expect(await offered(service, 'jammy')).not.toContain(`${name} 1.0 amd64`)
}

/** Waits until a query has this many rows. */
async function untilRows(
  { databaseUrl }: Installation,
  number: number,
  timeout: number,
  rows: (db: Db) => Promise<unknown[]>,
): Promise<void> {
  const { db, close } = await openDatabase(databaseUrl, { poolSize: 1 })
  try {
    await expect.poll(() => rows(db), { timeout }).toHaveLength(number)
  } finally {
    await close()
  }
}

/** The rows are removed after the files. */
const supersededGenerations = (installation: Installation, codename: string, number: number) =>
  untilRows(installation, number, 20_000, (db) =>
    db.selectFrom('superseded_generations').where('distribution', '=', codename).selectAll().execute(),
  )

/** Waits for the recovery of each minute: an index of another distribution may have been due while the disk was full. */
const untilAllIsPublished = (installation: Installation) =>
  untilRows(installation, 0, 90_000, (db) =>
    db.selectFrom('distributions').select('codename').whereRef('published_revision', '<', 'revision').execute(),
  )

describe('a full disk', () => {
  let disk: SmallDisk
  let service: Service
  beforeEach(async () => {
    const place = join(installation.directory, 'repos')
    await rename(place, join(installation.directory, 'kept'))
    disk = await mountSmallDisk(place, 24, 4000)
    execFileSync('cp', ['-a', `${join(installation.directory, 'kept')}/.`, place])
    service = await startService(installation)
  })
  afterEach(async () => {
    await service?.kill()
    await disk?.remove()
    await installation.remove()
  })

  it.each([
    ['pages', [0, 1, 2, 3, 4, 6, 8, 10, 12]],
    ['names', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 17, 19, 22]],
  ] as const)(
    'refuses an upload at every point where %s run out, and accepts it when there is room again',
    async (what, levels) => {
      const outcomes = new Set<number>()
      for (const left of levels) {
        const name = `${what}-${left}`
        const file = await buildDeb({ name, version: '1.0' })
        await disk.leave(left, what)
        const answer = await service.upload(file, 'a.deb', { distribution: 'jammy' })
        outcomes.add(answer.status)
        if (answer.status !== 201) await expectRefused(service, answer, name, ['storage_full', 'publication_failed'])
        await disk.free()
        const again = await service.upload(file, 'a.deb', { distribution: 'jammy' })
        expect([name, again.status]).toEqual([name, answer.status === 201 ? 409 : 201])
        expect(await offered(service, 'jammy')).toContain(`${name} 1.0 amd64`)
      }
      expect(outcomes).toEqual(new Set([500, 201]))
      await untilAllIsPublished(installation)
      expect(await service.stop()).toBe(0)
      expect((await examine({ ...installation, collected: true })).faults).toEqual([])
    },
  )

  it('refuses an upload larger than the free space, several times in a row', async () => {
    for (let n = 0; n < 3; n++) {
      await disk.leave(64, 'pages')
      const file = await buildDeb({ name: 'large', version: '1.0', files: { 'usr/share/large': randomBytes(1 << 20) } })
      await expectRefused(service, await service.upload(file, 'a.deb', { distribution: 'jammy' }), 'large', [
        'storage_full',
      ])
      // The refused bytes are removed, so a package that fits is accepted.
      expect(
        (
          await service.upload(await buildDeb({ name: `small-${n}`, version: '1.0' }), 'a.deb', {
            distribution: 'jammy',
          })
        ).status,
      ).toBe(201)
      const { bavail } = await statfs(disk.directory)
      expect(bavail).toBeGreaterThan(32)
    }
    await disk.free()
    expect(await service.stop()).toBe(0)
    expect((await examine({ ...installation, collected: true })).faults).toEqual([])
  })

  it('does not stop serving, restarts while full, and completes a deletion once there is room', async () => {
    // A publish without room removes superseded indexes and tries again.
    await disk.leave(0, 'pages')
    expect((await service.call('DELETE', '/artifacts/alpha/1.0')).status).toBe(200)
    // Then it also removes them after the publish, which may end after the answer. The remaining ones stay for clients.
    await supersededGenerations(installation, 'jammy', FEWEST)
    await disk.leave(0, 'pages')
    const before = await offered(service, 'jammy')
    expect(before).toContain('beta 1.0 all')
    expect(before).not.toContain('alpha 1.0 amd64')
    expect((await service.call('DELETE', '/artifacts/beta/1.0')).body.code).toMatch(/storage_full|publication_failed/)
    expect((await service.call('PATCH', '/settings/', { retention: { audit_days: 30 } })).body.code).toBe(
      'storage_full',
    )
    await service.kill()
    service = await startService(installation)
    expect(await offered(service, 'jammy')).toEqual(before)
    await disk.free()
    expect(
      (await service.upload(await buildDeb({ name: 'later', version: '1.0' }), 'a.deb', { distribution: 'jammy' }))
        .status,
    ).toBe(201)
    // The first try deleted it in the database. Now clients no longer see it.
    expect(await offered(service, 'jammy')).toEqual([
      ...before.filter((id) => !id.startsWith('beta 1.0 ')),
      'later 1.0 amd64',
    ])
    expect(await service.stop()).toBe(0)
    service = await startService(installation)
    expect(await service.stop()).toBe(0)
    expect((await examine({ ...installation, collected: true })).faults).toEqual([])
  })
})

describe('a pool on a separate mount', () => {
  it('stores packages by copying, refuses them while it is read-only, and stores them afterwards', async () => {
    await mkdir(join(installation.reposDir, 'pool'), { recursive: true })
    const pool = bindMount(join(installation.reposDir, 'pool'))
    let service: Service | undefined
    try {
      service = await startService(installation)
      const upload = async (name: string) =>
        (service as Service).upload(await buildDeb({ name, version: '1.0' }), 'a.deb', { distribution: 'jammy' })
      expect((await upload('copied')).status).toBe(201)
      pool.readOnly()
      await expectRefused(service, await upload('refused'), 'refused', ['internal_error'])
      const ready = await service.call('GET', '/health/ready')
      expect([ready.status, ready.body.failing]).toEqual([503, ['pool']])
      pool.writable()
      expect((await upload('refused')).status).toBe(201)
      expect((await service.call('GET', '/health/ready')).status).toBe(200)
      expect((await service.call('DELETE', '/artifacts/copied')).status).toBe(200)
      expect(await service.stop()).toBe(0)
      expect((await examine({ ...installation, collected: true })).faults).toEqual([])
    } finally {
      await service?.kill()
      pool.remove()
      await installation.remove()
    }
  })
})
