// A small disk and many uploads: superseded indexes are removed to make room for later ones.
import { randomBytes } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { readFile, rename, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'
import { createInstallations, type Installations } from './installations.ts'
import { mountSmallDisk, type SmallDisk } from './mounts.ts'
import { readHttp, readRepository } from './read-repository.ts'

const MIB = 1024 * 1024
const DISK_MIB = 96
const UPLOADS = 50
/** Bytes of an index entry; compression cannot save more than a quarter of them. */
const ENTRY_BYTES = 100_000

let installations: Installations
let disk: SmallDisk
let service: Service | undefined
beforeAll(async () => {
  installations = await createInstallations('postgres')
})
afterAll(async () => {
  await service?.kill()
  await disk?.remove()
  await installations?.remove()
})

it('no upload is refused while indexes of twice its size are published', async () => {
  const installation = await installations.copy()
  const place = installation.reposDir
  await rename(place, `${place}.kept`)
  disk = await mountSmallDisk(place, DISK_MIB, 20_000)
  execFileSync('cp', ['-a', `${place}.kept/.`, place])
  service = await startService(installation)
  const publicKey = await readFile(join(place, 'keys', 'gpg.key'), 'utf8')
  for (let n = 0; n < UPLOADS; n++) {
    const name = `steady-${n}`
    const file = await buildDeb({ name, fields: { Comment: randomBytes((ENTRY_BYTES * 3) / 4).toString('base64') } })
    const { status, body } = await service.upload(file, `${name}.deb`, { distribution: 'jammy' })
    expect([name, status, body.code]).toEqual([name, 201, undefined])
  }
  // Each index is written as gzip and as xz, with the entries of all packages so far.
  const written = ((UPLOADS * (UPLOADS + 1)) / 2) * ENTRY_BYTES * 0.75 * 2
  expect(written).toBeGreaterThan(1.5 * DISK_MIB * MIB)
  const { bavail, bsize } = await statfs(place)
  expect(bavail * bsize).toBeGreaterThan(0)
  const { packages } = await readRepository(readHttp(service), 'jammy', publicKey)
  expect([...packages.keys()].filter((key) => key.startsWith('steady-'))).toHaveLength(UPLOADS)
})
