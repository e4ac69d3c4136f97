// The process dies at any moment, not only at those with a name: under load, and during its very first start.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'
import { makeHouses, type Engine, type House, type Houses } from './houses.ts'
import { look, readDisk, readHttp } from './look.ts'
import { examine, waitFor } from './state.ts'

const ROUNDS: Record<Engine, number> = { postgres: 4, pglite: 2 }
const UPLOADERS = 3
const CODENAMES = ['jammy', 'noble']

/** What a client was told of a package, `jammy name version arch`; `unknown` when the answer never came. */
type Told = 'there' | 'gone' | 'unknown'

describe.each<Engine>(['postgres', 'pglite'])('on %s a process under load, killed at any moment', (engine) => {
  let houses: Houses
  let running: Service | undefined
  beforeAll(async () => void (houses = await makeHouses(engine)))
  afterAll(async () => {
    await running?.kill()
    await houses?.remove()
  })

  it('keeps every promise it made', async () => {
    const house = await houses.copy()
    const publicKey = await readFile(join(house.reposDir, 'keys', 'gpg.key'), 'utf8')
    const told = new Map<string, Told>()
    const newest = new Map<string, number>()
    const seen = new Set<string>()
    for (let round = 0; round < ROUNDS[engine]; round++) {
      const service = (running = await startService(house))
      const lifetime = 150 + Math.random() * 1500
      const storm = Promise.all(Array.from({ length: UPLOADERS }, (_, n) => work(service, told, `r${round}u${n}`)))
      // On a slow machine too something is promised before the first death.
      if (round === 0) await waitFor('a promise', async () => [...told.values()].includes('there'))
      await new Promise((resolve) => setTimeout(resolve, lifetime))
      await service.kill()
      await storm
      await compare(readDisk(house.reposDir), round % 2 === 0)
    }
    const service = (running = await startService(house))
    await compare(readHttp(service), true)
    for (const [id, word] of told) {
      const [, name, version] = id.split(' ')
      const { status } = await service.call('GET', `/artifacts/${name}/dependencies?version=${version}`)
      if (word !== 'unknown') expect([id, status]).toEqual([id, word === 'there' ? 200 : 404])
    }
    expect([...told.values()].filter((word) => word === 'there').length).toBeGreaterThan(0)
    expect(await service.stop()).toBe(0)
    expect((await examine({ ...house, collected: true })).faults).toEqual([])

    /** @param still whether the package files of earlier rounds are read anew as well */
    async function compare(read: ReturnType<typeof readDisk>, still: boolean): Promise<void> {
      for (const codename of CODENAMES) {
        const { date, packages } = await look(read, codename, publicKey, still ? {} : { seen })
        expect(date).toBeGreaterThanOrEqual(newest.get(codename) ?? 0)
        newest.set(codename, date)
        for (const [id, word] of told) {
          const [distribution, ...rest] = id.split(' ')
          if (distribution !== codename || word === 'unknown') continue
          expect([id, packages.has(rest.join(' '))]).toEqual([id, word === 'there'])
        }
      }
    }
  })
})

/** Uploads, and now and then deletes, until nobody answers. */
async function work(service: Service, told: Map<string, Told>, prefix: string): Promise<void> {
  const mine: string[] = []
  for (let n = 0; ; n++) {
    const distribution = CODENAMES[n % 2] as string
    const deleted = n % 4 === 3 ? mine.shift() : undefined
    const id = deleted ?? `${distribution} ${prefix}-${n} 1.0 amd64`
    const name = id.split(' ')[1] as string
    told.set(id, 'unknown')
    try {
      const { status, body } = deleted
        ? await service.call('DELETE', `/artifacts/${name}`)
        : await service.upload(await buildDeb({ name, version: '1.0' }), 'a.deb', { distribution })
      if (status >= 300) throw new Error(`${id}: ${status} ${JSON.stringify(body)}`)
      told.set(id, deleted ? 'gone' : 'there')
      if (!deleted) mine.push(id)
    } catch (error) {
      // The connection broke off: that is what is wanted here.
      if (error instanceof TypeError) return
      throw error
    }
  }
}

describe('a first start that is killed again and again', () => {
  let directory: string
  let running: Service | undefined
  beforeAll(async () => void (directory = await mkdtemp(join(tmpdir(), 'first-start-'))))
  afterAll(async () => {
    await running?.kill()
    await rm(directory, { recursive: true, force: true })
  })

  it('comes up in the end, with nothing left over', async () => {
    const house: Pick<House, 'reposDir' | 'databaseUrl'> = {
      reposDir: join(directory, 'repos'),
      databaseUrl: `pglite://${join(directory, 'db')}`,
    }
    for (const lifetime of [700, 1100, 1500, 2000, 2500]) {
      const service = (running = await startService({ ...house, raw: true }))
      await new Promise((resolve) => setTimeout(resolve, lifetime))
      await service.kill()
    }
    const service = (running = await startService(house))
    const { status } = await service.upload(await buildDeb(), 'a.deb', { distribution: 'focal' })
    expect(status).toBe(201)
    expect(await service.stop()).toBe(0)
    expect((await examine({ ...house, collected: true })).faults).toEqual([])
    expect((await readdir(join(house.reposDir, 'gnupg'))).sort()).toEqual(['signing-key.asc', 'svc.rsa'])
    expect((await readdir(join(house.reposDir, 'keys'))).filter((name) => name.startsWith('.'))).toEqual([])
  })
})
