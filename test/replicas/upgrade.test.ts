// An upgrade without a pause: the last build and the present one work on one database and one directory.
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createInstallations, type Installation, type Installations } from '../crash/installations.ts'
import { readHttp, readRepository } from '../crash/read-repository.ts'
import { examine, waitFor } from '../crash/state.ts'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'
import { buildLast, hasHistory, landedMigrations } from './last-build.ts'

let last: Awaited<ReturnType<typeof buildLast>>
let installations: Installations
let installation: Installation
const running: Service[] = []

describe.skipIf(!hasHistory)('an upgrade', () => {
  beforeAll(async () => {
    last = await buildLast()
    installations = await createInstallations('postgres', 'apt', { root: last.directory })
    installation = await installations.copy()
  })
  afterAll(async () => {
    for (const service of running) await service.kill()
    await installations?.remove()
    await last?.remove()
  })

  it('a migration that landed never changes', async () => {
    const folder = join(import.meta.dirname, '../../src/store/migrations')
    const names = await readdir(folder)
    for (const [name, content] of landedMigrations()) {
      expect(names).toContain(name)
      expect(await readFile(join(folder, name), 'utf8'), name).toBe(content)
    }
  })

  it('both builds take uploads at the same time, and the present one goes on alone', async () => {
    const key = await readFile(join(installation.reposDir, 'keys', 'gpg.key'), 'utf8')
    const before = await startService({ ...installation, root: last.directory })
    running.push(before)
    const after = await startService(installation)
    running.push(after)
    const upload = async (service: Service, name: string) => {
      const { status, body } = await service.upload(await buildDeb({ name, version: '1.0' }), 'a.deb', {
        distribution: 'jammy',
      })
      expect([name, status, body.status]).toEqual([name, 201, 'published'])
      return `${name} 1.0 amd64`
    }
    const names = await Promise.all(
      [before, after].map(async (service, which) => {
        const own: string[] = []
        for (let n = 0; n < 5; n++) own.push(await upload(service, `build-${which}-${n}`))
        return own
      }),
    )
    const offered = async (service: Service) => [
      ...(await readRepository(readHttp(service), 'jammy', key, { quiet: false })).packages.keys(),
    ]
    for (const service of running) expect(await offered(service)).toEqual(expect.arrayContaining(names.flat()))

    expect(await before.stop()).toBe(0)
    await waitFor(
      'leadership',
      async () => (await after.call('GET', '/health')).body.checks.info.ha.is_leader as boolean,
    )
    const alone = await upload(after, 'alone')
    expect(await offered(after)).toEqual(expect.arrayContaining([...names.flat(), alone]))
    expect(await after.stop()).toBe(0)
    expect((await examine({ ...installation, collected: true })).faults).toEqual([])
  })
})
