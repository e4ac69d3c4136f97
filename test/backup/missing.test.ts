// A lost package file prevents neither a backup nor the restore of the other packages.
import { execFile } from 'node:child_process'
import { readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { readHttp, readRepository } from '../crash/read-repository.ts'
import { filesBelow } from '../crash/stored.ts'
import { waitFor } from '../crash/state.ts'
import { buildDeb } from '../samples/deb.ts'
import { removeTemporary, startService, type Service } from '../service.ts'

const run = promisify(execFile)
const MAIN = join(import.meta.dirname, '../..')
const CODENAME = 'jammy'

const running: Service[] = []
afterAll(async () => {
  for (const service of running) await service.kill()
  await removeTemporary()
})

async function start(place: { reposDir?: string; databaseUrl?: string } = {}): Promise<Service> {
  const service = await startService({ ...place, env: { REPO_FORMAT: 'apt' } })
  running.push(service)
  return service
}

test('a lost file is named by the backup, its list and the audit log, and by the restore, which publishes the others', async () => {
  const service = await start()
  for (const name of ['kept', 'lost']) {
    const file = await buildDeb({ name, version: '1.0' })
    expect((await service.upload(file, 'a.deb', { distribution: CODENAME })).status).toBe(201)
  }
  const pool = join(service.reposDir, 'pool')
  const path = (await filesBelow(pool)).find((one) => one.includes('lost'))!
  await rm(join(pool, path))
  const { status, body } = await service.call('POST', '/backup/')
  expect([status, body.missing, body.missing_files]).toEqual([
    201,
    1,
    [{ filename: expect.stringContaining('lost'), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }],
  ])
  const [listed] = (await service.call('GET', '/backup/')).body.backups
  expect(listed).toMatchObject({ name: body.name, missing: 1 })
  const { body: audit } = await service.call('GET', '/artifacts/audit/logs?action=BACKUP_CREATE')
  expect(audit.items[0]).toMatchObject({ result: 'WARNING', outcome: 'incomplete', extra: { missing: 1 } })
  const archive = join(service.reposDir, 'backups', body.name)
  expect(await service.stop()).toBe(0)

  const base = dirname(service.reposDir)
  const place = { reposDir: join(base, 'restored', 'repos'), databaseUrl: `pglite://${join(base, 'restored', 'db')}` }
  const env = { PATH: process.env['PATH'], DATABASE_URL: place.databaseUrl, REPOS_DIR: place.reposDir }
  const { stdout } = await run(process.execPath, [join(MAIN, 'bin', 'restore.mjs'), archive], { cwd: MAIN, env })
  expect(stdout).toContain('the archive lacks 1 package files')
  expect(stdout).toMatch(/^missing: lost\S* \(SHA-256 [0-9a-f]{64}\)$/m)
  expect(stdout).toMatch(/^quarantined: lost 1\.0 amd64 in jammy/m)

  const restored = await start(place)
  const key = await readFile(join(place.reposDir, 'keys', 'gpg.key'), 'utf8')
  const names = await waitFor('the index', async () => {
    const { packages } = await readRepository(readHttp(restored), CODENAME, key).catch(() => ({ packages: null }))
    return packages && [...packages.keys()]
  })
  expect(names).toEqual(['kept 1.0 amd64'])
  const { body: lost } = await restored.call('GET', '/artifacts/lost')
  expect(lost.versions.map((record: { status: string }) => record.status)).toEqual(['quarantined'])
  const again = await restored.call('POST', '/backup/')
  expect([again.status, again.body.missing]).toEqual([201, 1])
  expect((await restored.call('DELETE', '/artifacts/lost')).status).toBe(200)
  // Only one backup per second is possible, and the last one may be of this second.
  const whole = await waitFor('another second', async () => {
    const { status, body } = await restored.call('POST', '/backup/')
    return status === 201 && body
  })
  expect(whole).toMatchObject({ missing: 0 })
  expect((await readdir(join(place.reposDir, 'backups'))).filter((name) => name.includes('missing'))).toHaveLength(1)
  expect(await restored.stop()).toBe(0)
})
