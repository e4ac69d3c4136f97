// Kills the process at random moments: under load, and during its first start.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'
import { createInstallations, type Engine, type Installation, type Installations } from './installations.ts'
import { readRepository, readDisk, readHttp } from './read-repository.ts'
import { examine, offeredAt, waitFor } from './state.ts'

const ROUNDS: Record<Engine, number> = { postgres: 4, pglite: 2 }
const UPLOADERS = 3
const CODENAMES = ['jammy', 'noble']

/** The acknowledged state of a package; `unknown` when no answer arrived. */
type Outcome = 'published' | 'deleted' | 'unknown'

describe.each<Engine>(['postgres', 'pglite'])('on %s a process under load, killed at any moment', (engine) => {
  let installations: Installations
  let running: Service | undefined
  beforeAll(async () => void (installations = await createInstallations(engine)))
  afterAll(async () => {
    await running?.kill()
    await installations?.remove()
  })

  it('keeps every acknowledged change', async () => {
    const installation = await installations.copy()
    const publicKey = await readFile(join(installation.reposDir, 'keys', 'gpg.key'), 'utf8')
    const answers = new Map<string, Outcome>()
    const newest = new Map<string, number>()
    const seen = new Set<string>()
    const past: { codename: string; date: number; packages: string[] }[] = []
    for (let round = 0; round < ROUNDS[engine]; round++) {
      const service = (running = await startService(installation))
      const lifetime = 150 + Math.random() * 1500
      const uploads = Promise.all(Array.from({ length: UPLOADERS }, (_, n) => work(service, answers, `r${round}u${n}`)))
      // Even a slow machine must acknowledge an upload before the first kill.
      if (round === 0) await waitFor('an upload', async () => [...answers.values()].includes('published'))
      await new Promise((resolve) => setTimeout(resolve, lifetime))
      await service.kill()
      await uploads
      await compare(readDisk(installation.reposDir), round % 2 === 0)
    }
    const service = (running = await startService(installation))
    await compare(readHttp(service), true)
    for (const [id, outcome] of answers) {
      const [, name, version] = id.split(' ')
      const { status } = await service.call('GET', `/artifacts/${name}/dependencies?version=${version}`)
      if (outcome !== 'unknown') expect([id, status]).toEqual([id, outcome === 'published' ? 200 : 404])
    }
    expect([...answers.values()].filter((outcome) => outcome === 'published').length).toBeGreaterThan(0)
    expect(await service.stop()).toBe(0)
    expect((await examine({ ...installation, collected: true })).faults).toEqual([])
    for (const { codename, date, packages } of past)
      expect(await offeredAt(installation.databaseUrl, codename, date)).toContainEqual(packages)

    /** @param readAgain whether package files of earlier rounds are read again */
    async function compare(read: ReturnType<typeof readDisk>, readAgain: boolean): Promise<void> {
      for (const codename of CODENAMES) {
        const { date, packages } = await readRepository(read, codename, publicKey, readAgain ? {} : { seen })
        expect(date).toBeGreaterThanOrEqual(newest.get(codename) ?? 0)
        newest.set(codename, date)
        past.push({ codename, date, packages: [...packages.keys()].sort() })
        for (const [id, outcome] of answers) {
          const [distribution, ...rest] = id.split(' ')
          if (distribution !== codename || outcome === 'unknown') continue
          expect([id, packages.has(rest.join(' '))]).toEqual([id, outcome === 'published'])
        }
      }
    }
  })
})

/** Uploads, and sometimes deletes, until the connection breaks. */
async function work(service: Service, answers: Map<string, Outcome>, prefix: string): Promise<void> {
  const mine: string[] = []
  for (let n = 0; ; n++) {
    const distribution = CODENAMES[n % 2] as string
    const deleted = n % 4 === 3 ? mine.shift() : undefined
    const id = deleted ?? `${distribution} ${prefix}-${n} 1.0 amd64`
    const name = id.split(' ')[1] as string
    answers.set(id, 'unknown')
    try {
      const { status, body } = deleted
        ? await service.call('DELETE', `/artifacts/${name}`)
        : await service.upload(await buildDeb({ name, version: '1.0' }), 'a.deb', { distribution })
      if (status >= 300) throw new Error(`${id}: ${status} ${JSON.stringify(body)}`)
      answers.set(id, deleted ? 'deleted' : 'published')
      if (!deleted) mine.push(id)
    } catch (error) {
      // The connection broke because the process was killed.
      if (error instanceof TypeError) return
      throw error
    }
  }
}

describe('a first start that is killed several times', () => {
  let directory: string
  let running: Service | undefined
  beforeAll(async () => void (directory = await mkdtemp(join(tmpdir(), 'first-start-'))))
  afterAll(async () => {
    await running?.kill()
    await rm(directory, { recursive: true, force: true })
  })

  it('succeeds in the end and leaves nothing over', async () => {
    const installation: Pick<Installation, 'reposDir' | 'databaseUrl'> = {
      reposDir: join(directory, 'repos'),
      databaseUrl: `pglite://${join(directory, 'db')}`,
    }
    for (const lifetime of [700, 1100, 1500, 2000, 2500]) {
      const service = (running = await startService({ ...installation, raw: true }))
      await new Promise((resolve) => setTimeout(resolve, lifetime))
      await service.kill()
    }
    const service = (running = await startService(installation))
    const { status } = await service.upload(await buildDeb(), 'a.deb', { distribution: 'focal' })
    expect(status).toBe(201)
    expect(await service.stop()).toBe(0)
    expect((await examine({ ...installation, collected: true })).faults).toEqual([])
    expect((await readdir(join(installation.reposDir, 'gnupg'))).sort()).toEqual([
      'access-key.pem',
      'audit.key',
      'signing-key.asc',
      'svc.rsa',
    ])
    expect((await readdir(join(installation.reposDir, 'keys'))).filter((name) => name.startsWith('.'))).toEqual([])
  })
})
