// A disk that is full at every write of an upload, and a pool that cannot be written to: refused, nothing half stored.
import { randomBytes } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { mkdir, readFile, rename, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'
import { makeHouses, type House, type Houses } from './houses.ts'
import { look, readHttp } from './look.ts'
import { bindMount, mountSmallDisk, type SmallDisk } from './mounts.ts'
import { examine } from './state.ts'

let houses: Houses
let house: House
let publicKey: string
beforeAll(async () => {
  houses = await makeHouses('postgres')
})
afterAll(() => houses?.remove())
beforeEach(async () => {
  house = await houses.copy()
  publicKey = await readFile(join(house.reposDir, 'keys', 'gpg.key'), 'utf8')
})

const offered = async (service: Service, codename: string) => [
  ...(await look(readHttp(service), codename, publicKey)).packages.keys(),
]

/** Refused in the service's own words, and not to be found anywhere. */
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

describe('a full disk', () => {
  let disk: SmallDisk
  let service: Service
  beforeEach(async () => {
    const place = join(house.directory, 'repos')
    await rename(place, join(house.directory, 'kept'))
    disk = await mountSmallDisk(place, 24, 4000)
    execFileSync('cp', ['-a', `${join(house.directory, 'kept')}/.`, place])
    service = await startService(house)
  })
  afterEach(async () => {
    await service?.kill()
    await disk?.remove()
    await house.remove()
  })

  it.each([
    ['pages', [0, 1, 2, 3, 4, 6, 8, 10, 12]],
    ['names', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 17, 19, 22]],
  ] as const)(
    'refuses an upload wherever it runs out of %s, and takes it when there is room again',
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
      expect(await service.stop()).toBe(0)
      expect((await examine({ ...house, collected: true })).faults).toEqual([])
    },
  )

  it('refuses an upload larger than what is left, again and again', async () => {
    for (let n = 0; n < 3; n++) {
      await disk.leave(64, 'pages')
      const file = await buildDeb({ name: 'large', version: '1.0', files: { 'usr/share/large': randomBytes(1 << 20) } })
      await expectRefused(service, await service.upload(file, 'a.deb', { distribution: 'jammy' }), 'large', [
        'storage_full',
      ])
      // What was received in vain is gone: a package that fits is taken.
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
    expect((await examine({ ...house, collected: true })).faults).toEqual([])
  })

  it('goes on serving, starts anew while it is full, and deletes what is asked once there is room', async () => {
    await disk.leave(0, 'pages')
    const before = await offered(service, 'jammy')
    expect(before).toContain('alpha 1.0 amd64')
    expect((await service.call('DELETE', '/artifacts/alpha/1.0')).body.code).toMatch(/storage_full|publication_failed/)
    expect((await service.call('PATCH', '/settings/', { retention: { audit_days: 30 } })).body.code).toBe(
      'storage_full',
    )
    await service.kill()
    service = await startService(house)
    expect(await offered(service, 'jammy')).toEqual(before)
    await disk.free()
    expect(
      (await service.upload(await buildDeb({ name: 'later', version: '1.0' }), 'a.deb', { distribution: 'jammy' }))
        .status,
    ).toBe(201)
    // Deleted in the database from the first try on, and now for clients too.
    expect(await offered(service, 'jammy')).toEqual([
      ...before.filter((id) => !id.startsWith('alpha 1.0 ')),
      'later 1.0 amd64',
    ])
    expect(await service.stop()).toBe(0)
    service = await startService(house)
    expect(await service.stop()).toBe(0)
    expect((await examine({ ...house, collected: true })).faults).toEqual([])
  })
})

describe('a pool on a mount of its own', () => {
  it('takes packages by copying, refuses them while it is read-only, and takes them afterwards', async () => {
    await mkdir(join(house.reposDir, 'pool'), { recursive: true })
    const pool = bindMount(join(house.reposDir, 'pool'))
    let service: Service | undefined
    try {
      service = await startService(house)
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
      expect((await examine({ ...house, collected: true })).faults).toEqual([])
    } finally {
      await service?.kill()
      pool.remove()
      await house.remove()
    }
  })
})
