// A full disk that also holds the embedded database: requests are refused, nothing is half-written, and it recovers by itself.
import { randomBytes } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'
import { createInstallations, type Installation, type Installations } from './installations.ts'
import { mountSmallDisk, type SmallDisk } from './mounts.ts'
import { readHttp, readRepository } from './read-repository.ts'
import { examine } from './state.ts'

/** Allowed answers on a full disk. If the lease cannot be renewed, the leadership ends after 15 s. */
const REFUSALS = ['storage_full', 'publication_failed', 'passive_replica', 'not_found']

let installations: Installations
let installation: Installation
let disk: SmallDisk
let service: Service | undefined
beforeAll(async () => {
  installations = await createInstallations('pglite')
  const copy = await installations.copy()
  const place = join(copy.directory, 'disk')
  disk = await mountSmallDisk(place, 320, 20_000)
  for (const name of ['repos', 'db']) execFileSync('cp', ['-a', join(copy.directory, name), place])
  installation = { ...copy, reposDir: join(place, 'repos'), databaseUrl: `pglite://${join(place, 'db')}` }
})
afterAll(async () => {
  await service?.kill()
  await disk?.remove()
  await installations?.remove()
})

it('uploads, backups, retention and deletions are refused, and work when there is room again', async () => {
  service = await startService(installation)
  const publicKey = await readFile(join(installation.reposDir, 'keys', 'gpg.key'), 'utf8')
  const codes = new Set<string>()
  for (const left of [0, 2, 12]) {
    const name = `left-${left}`
    const file = await buildDeb({ name, version: '1.0', files: { [`usr/share/${name}`]: randomBytes(256 << 10) } })
    await disk.leave(left, 'pages')
    const answers = [
      await service.upload(file, 'a.deb', { distribution: 'jammy' }),
      await service.call('POST', '/backup'),
      await service.call('POST', '/settings/run-retention'),
      await service.call('DELETE', '/artifacts/alpha/1.0'),
    ]
    for (const { status, body } of answers) {
      if (status < 300) continue
      codes.add(body.code)
      expect(REFUSALS).toContain(body.code)
    }
    expect(answers[0]?.status).toBe(500)
    expect((await service.call('GET', `/artifacts/${name}`)).status).toBe(404)
    await disk.free()
    const again = await service.upload(file, 'a.deb', { distribution: 'jammy' })
    expect([name, again.status]).toEqual([name, 201])
    const { packages } = await readRepository(readHttp(service), 'jammy', publicKey)
    expect([...packages.keys()]).toContain(`${name} 1.0 amd64`)
  }
  expect(codes).toContain('storage_full')
  await expect.poll(async () => (await service!.call('POST', '/backup')).status, { interval: 1000 }).toBe(201)
  expect(await service.stop()).toBe(0)
  expect((await examine({ ...installation, collected: true })).faults).toEqual([])
})
