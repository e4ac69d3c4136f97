// The drill: back up under load, destroy everything, restore into an empty system, and compare.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createInstallations,
  STOCK,
  type Engine,
  type Installation,
  type Installations,
} from '../crash/installations.ts'
import { buildPackage, type Format } from '../crash/packages.ts'
import { readHttp, readRepository } from '../crash/read-repository.ts'
import { examine } from '../crash/state.ts'
import { startPostgres, type Postgres } from '../crash/postgres.ts'
import { startService, type Service } from '../service.ts'
import { verifyArchive } from '../../src/operations/backup/verify-archive.ts'
import { createClient, type Client } from './clients.ts'

const run = promisify(execFile)
const MAIN = join(import.meta.dirname, '../..')

let scratch: string
let postgres: Postgres
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'backup-'))
  postgres = await startPostgres()
})
afterAll(async () => {
  await postgres?.remove()
  await rm(scratch, { recursive: true, force: true })
})

/** Runs `npm run restore`. @returns its exit code and its output */
async function restore(
  archive: string,
  reposDir: string,
  databaseUrl: string,
): Promise<{ code: number; text: string }> {
  const env = { ...process.env, DATABASE_URL: databaseUrl, REPOS_DIR: reposDir, ENV: 'development' }
  return run(process.execPath, [join(MAIN, 'bin', 'restore.mjs'), archive], { cwd: MAIN, env }).then(
    ({ stdout, stderr }) => ({ code: 0, text: stdout + stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      text: error.stdout + error.stderr,
    }),
  )
}

interface Seen {
  date: number
  packages: Map<string, { filename: string; sha256: string }>
}

async function see(service: Service, codenames: readonly string[], key: string): Promise<Record<string, Seen>> {
  const seen: Record<string, Seen> = {}
  for (const codename of codenames)
    seen[codename] = await readRepository(readHttp(service), codename, key, { quiet: false })
  return seen
}

const CASES: [Engine, Engine, Format][] = [
  ['pglite', 'pglite', 'rpm'],
  ['postgres', 'postgres', 'apt'],
  ['pglite', 'postgres', 'apk'],
]

describe.each(CASES)('from %s to %s (%s)', (from, to, format) => {
  const stock = STOCK[format]
  const codenames = [...new Set(stock.map(({ distribution }) => distribution))]
  const [first, second = first] = codenames as [string, string?]
  let installations: Installations
  let installation: Installation
  let archive: string
  let before: Record<string, Seen>
  let acknowledged: string[]
  let key: string
  let client: Client
  const version = stock[0]!.version

  beforeAll(async () => {
    installations = await createInstallations(from, format)
    installation = await installations.copy({ settings: 'hold' })
  })
  afterAll(async () => {
    await client?.remove()
    await installations?.remove()
  })

  it('a backup is made while packages are uploaded and deleted', async () => {
    const service = await startService(installation)
    key = await readFile(join(installation.reposDir, 'keys', 'gpg.key'), 'utf8')
    try {
      const user = { username: 'keeper', password: 'A-long-Pass-phrase-77', role: 'maintainer' }
      expect((await service.call('POST', '/auth/users', user)).status).toBe(201)
      await service.call('PATCH', '/settings/', {
        validation: { on_unscanned: 'allow' },
        app_url: 'https://console.example.org',
      })
      const justification = 'seen in the drill'
      await service.call('POST', `/security/packages/waiting/${version}/decide`, { decision: 'reject', justification })
      before = await see(service, codenames, key)
      client = await createClient(format, service, first, key)
      await client.takes('alpha')
      acknowledged = []
      let over = false
      const uploading = (async () => {
        for (let n = 0; !over; n++) {
          const file = await buildPackage(format, { name: `load-${n}`, version })
          const { status } = await service.upload(file, 'package', { distribution: first })
          expect(status).toBe(201)
          // A package deleted at once must still be in an archive of a moment in which it existed.
          if (n % 3 === 2) await service.call('DELETE', `/artifacts/load-${n - 1}`)
        }
      })()
      const { status, body } = await service.call('POST', '/backup/')
      over = true
      await uploading
      expect([status, body]).toEqual([
        201,
        expect.objectContaining({ status: 'ok', name: expect.stringMatching(/^svc_backup_/) }),
      ])
      acknowledged = [...(await see(service, [first], key))[first]!.packages.keys()]

      const listed = await service.call('GET', '/backup/')
      expect(listed.body).toMatchObject({
        total: 1,
        backups: [{ name: body.name, sha256: body.sha256, created_at: body.created_at }],
        retention_count: 7,
      })
      archive = await download(service, body.name, body.size_bytes, body.sha256)
      const { body: log } = await service.call('GET', '/artifacts/audit/logs?action=BACKUP_CREATE')
      expect(log.items[0]).toMatchObject({ result: 'SUCCESS', detail: body.name })
      expect(await readdir(join(installation.reposDir, 'backups'))).toEqual([body.name, `${body.name}.sha256`])
      expect((await stat(join(installation.reposDir, 'backups', body.name))).mode & 0o777).toBe(0o600)
    } finally {
      expect(await service.stop()).toBe(0)
    }
  })

  /** Downloads in two parts, as a client that resumes. */
  async function download(service: Service, name: string, size: number, sha256: string): Promise<string> {
    const half = Math.floor(size / 2)
    const parts: Buffer[] = []
    for (const range of [`bytes=0-${half - 1}`, `bytes=${half}-`]) {
      const reply = await fetch(`${service.api}/api/v1/backup/${name}`, {
        headers: { authorization: `Bearer ${service.token}`, range },
      })
      expect(reply.status).toBe(206)
      parts.push(Buffer.from(await reply.arrayBuffer()))
    }
    const bytes = Buffer.concat(parts)
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256)
    const path = join(scratch, `${from}-${to}-${name}`)
    await writeFile(path, bytes)
    return path
  }

  it('restored into an empty system, everything is there and clients go on', async () => {
    await rm(installation.directory, { recursive: true, force: true })
    const target = join(scratch, `${from}-${to}`)
    const reposDir = join(target, 'repos')
    await mkdir(reposDir, { recursive: true })
    const name = `restored_${from}_${to}`
    const databaseUrl = to === 'postgres' ? await postgres.create(name) : `pglite://${join(target, 'db')}`
    const restored = await restore(archive, reposDir, databaseUrl)
    expect([restored.code, restored.text]).toEqual([0, expect.stringContaining('restored')])

    const env = { ...installation.env, ...client.addresses }
    const service = await startService({ ...installation, env, reposDir, databaseUrl })
    try {
      expect(await readFile(join(reposDir, 'keys', 'gpg.key'), 'utf8')).toBe(key)
      await expect
        .poll(
          async () =>
            (await service.call('GET', '/distributions/')).body.distributions.find((d: any) => d.codename === second)
              .last_published_at,
        )
        .not.toBe(null)
      const after = await see(service, codenames, key)
      await client.takes('alpha')
      for (const codename of codenames) {
        // apt ignores a Release that is older than its own.
        expect(after[codename]!.date).toBeGreaterThan(before[codename]!.date - (format === 'apk' ? 1 : 0))
        for (const [name, offer] of before[codename]!.packages) {
          expect(after[codename]!.packages.get(name)).toMatchObject({ sha256: offer.sha256 })
          // An interrupted download of a client continues from the same address.
          expect(after[codename]!.packages.get(name)!.filename).toBe(offer.filename)
        }
      }
      // No package has appeared that was not acknowledged.
      const known = new Set([...before[first]!.packages.keys(), ...acknowledged])
      for (const name of after[first]!.packages.keys()) if (!/^load-/.test(name)) expect(known.has(name)).toBe(true)

      const login = await service.call(
        'POST',
        '/auth/token',
        { username: 'keeper', password: 'A-long-Pass-phrase-77' },
        { authorization: '' },
      )
      expect(login.status).toBe(200)
      expect((await service.call('GET', '/settings/')).body.app_url).toBe('https://console.example.org')
      const rejected = await service.call('GET', `/security/packages?status=rejected`)
      expect(rejected.body.items).toContainEqual(expect.objectContaining({ name: 'waiting' }))
      const again = await service.upload(await buildPackage(format, { name: 'waiting', version }), 'package', {
        distribution: first,
      })
      expect(again.body).toMatchObject({ status: 'rejected' })
      const fresh = await service.upload(await buildPackage(format, { name: 'after', version }), 'package', {
        distribution: first,
      })
      expect(fresh.status).toBe(201)
      expect(
        [...(await see(service, [first], key))[first]!.packages.keys()].some((name) => name.startsWith('after ')),
      ).toBe(true)
      await client.takes('after')
    } finally {
      expect(await service.stop()).toBe(0)
    }
    // Records, pool, manifests, trees and the audit chain agree.
    expect((await examine({ reposDir, databaseUrl, collected: true })).faults).toEqual([])
    const twice = await restore(archive, reposDir, databaseUrl)
    expect(twice).toMatchObject({ code: 1, text: expect.stringContaining('not empty') })
  })

  it('an archive that is cut off anywhere is not taken for whole', async () => {
    const whole = await readFile(archive)
    expect((await verifyArchive(archive)).proof).toMatchObject({ format: 1, missing: 0 })
    const cut = join(scratch, `${from}-${to}-places.tar.gz`)
    for (let n = 0; n < 200; n++) {
      const size = Math.floor((whole.length * n) / 200)
      await writeFile(cut, whole.subarray(0, size))
      expect([size, await verifyArchive(cut).catch((error: { code: string }) => error.code)]).toEqual([
        size,
        'validation_error',
      ])
    }
  })

  it('an archive that is cut off or damaged is refused, and nothing is written', async () => {
    const { size } = await stat(archive)
    for (const [what, change] of [
      ['cut', (path: string) => truncate(path, size - 100)],
      ['half', (path: string) => truncate(path, Math.floor(size / 2))],
      [
        'flipped',
        async (path: string) => {
          const bytes = await readFile(path)
          const at = Math.floor(size * 0.9)
          bytes[at] = bytes[at]! ^ 0xff
          await writeFile(path, bytes)
        },
      ],
      ['foreign', (path: string) => writeFile(path, 'not an archive')],
    ] as const) {
      const copy = join(scratch, `${from}-${to}-${what}.tar.gz`)
      await copyFile(archive, copy)
      await change(copy)
      const target = join(scratch, `${from}-${to}-${what}`)
      const refused = await restore(copy, join(target, 'repos'), `pglite://${join(target, 'db')}`)
      expect([what, refused.code]).toEqual([what, 1])
      expect(await readdir(target).catch(() => [])).toEqual([])
    }
  })
})
