// The gate with a real clamd: infected packages are never served, packages that cannot be scanned follow on_unscanned,
// and no upload is accepted while clamd is down.
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, readdir, rm, stat, symlink } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/store/db.ts'
import { startClamd, type RealClamd } from '../antivirus/real-clamd.ts'
import { eicar } from '../fakes/clamd.ts'
import { need } from '../need.ts'
import { buildTar } from '../samples/tar.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { packedDeb, PACKERS, type PackedDeb, type Packing } from './infected-deb.ts'

const MIB = 1024 * 1024
/** StreamMaxLength of this clamd, and the largest stream that the service sends. */
const STREAM_MIB = 1
const LATER_KEYS = { cve_scan: 'not_run', gpg: 'not_run', dependencies: 'not_run' }

let directory: string
let clamd: RealClamd | null = null
let service: Service
/** names and digests of refused packages; nothing of them may be stored */
const refused: { name: string; sha256: string }[] = []

/** The path of the socket. It stays the same when clamd is restarted. */
const socket = () => join(directory, 'clamd.sock')

async function startScanner(): Promise<void> {
  clamd = await startClamd([`StreamMaxLength ${STREAM_MIB}M`, 'AlertExceedsMax yes'])
  await rm(socket(), { force: true })
  await symlink(clamd.unix.path, socket())
}

async function stopScanner(): Promise<void> {
  await clamd?.stop()
  clamd = null
}

beforeAll(async () => {
  need('clamav-daemon', 'gzip', 'xz-utils', 'zstd', 'bzip2')
  directory = await mkdtemp(join(tmpdir(), 'gate-'))
  await startScanner()
  const CLAMAV_DB_DIR = (clamd as unknown as RealClamd).databaseDirectory
  service = await startService({
    env: { CLAMAV_SOCKET: socket(), CLAMAV_MAX_STREAM_MB: String(STREAM_MIB), CLAMAV_DB_DIR },
  })
})
afterAll(async () => {
  await service?.stop()
  await stopScanner()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})
// No advisory data is loaded, so only the malware scan decides.
beforeEach(() => configure({ grype_scan: false, clamav_scan: true, on_unscanned: 'hold' }))

async function configure(validation: Record<string, unknown>): Promise<void> {
  const { status, body } = await service.call('PATCH', '/settings/', { validation })
  expect(status, JSON.stringify(body)).toBe(200)
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const upload = (deb: Buffer) => service.upload(deb, 'a.deb', { distribution: 'bookworm' })

/** Regular files below a directory with this digest. */
async function holding(root: string, digest: string): Promise<string[]> {
  const found: string[] = []
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    // A file that the service renames meanwhile is missing.
    const content = entry.isFile() ? await readFile(path).catch(() => null) : null
    if (content && sha256(content) === digest) found.push(relative(root, path))
  }
  return found
}

/** Sends the path exactly as given, without resolving dots. */
function get(origin: string, path: string): Promise<{ status: number; sha256: string }> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve, reject) => {
    const asked = request(
      { hostname, port, path, headers: { authorization: `Bearer ${service.token}` } },
      (response) => {
        const hash = createHash('sha256')
        response.on('data', (piece: Buffer) => hash.update(piece))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, sha256: hash.digest('hex') }))
        response.on('error', reject)
      },
    )
    asked.on('error', reject).end()
  })
}

/** Every URL path with which an attacker might try to read a file of the repositories' directory. */
function guessedPaths(path: string, filename: string): string[] {
  const ups = ['..', '%2e%2e', '..%2f..', '.%2e'].map((up) => `/repos/dists/bookworm/${`${up}/`.repeat(4)}${path}`)
  return [
    `/${path}`,
    `/repos/${path}`,
    `/repos/dists/${path}`,
    `/repos/dists/../${path}`,
    `/repos/dists/bookworm/pool/${filename}`,
    `/repos/dists/bookworm/${path}`,
    `/repos//${path}`,
    `/api/v1/${path}`,
    ...ups,
  ]
}

async function indexText(): Promise<string> {
  const answer = await fetch(`${service.apt}/repos/dists/bookworm/main/binary-amd64/Packages`)
  expect(answer.status).toBe(200)
  return answer.text()
}

async function metric(name: string): Promise<number> {
  const { body } = await service.call('GET', '/metrics')
  const line = String(body)
    .split('\n')
    .find((text) => text.startsWith(`${name} `))
  return Number(line?.slice(name.length))
}

async function lastUpload(name: string): Promise<Record<string, unknown>> {
  const { body } = await service.call('GET', `/artifacts/audit/logs?package=${name}&action=UPLOAD`)
  return body.items[0] as Record<string, unknown>
}

it('the age of signatures that have no date is that of their files', async () => {
  expect(await metric('svc_clamav_last_update')).toBeGreaterThan(Date.now() / 1000 - 3600)
})

describe('an infected package', () => {
  const places: [string, (name: string) => Pick<PackedDeb, 'scripts' | 'files'>, string][] = [
    ['a maintainer script', () => ({ scripts: { postinst: eicar() } }), 'DEBIAN/postinst'],
    ['a file', (name) => ({ files: { [`usr/bin/${name}`]: eicar() } }), 'usr/bin/'],
  ]
  const cases = (Object.keys(PACKERS) as Packing[]).flatMap((packing) =>
    places.map(([place, parts, member]) => ({ packing, place, parts, member })),
  )

  it.each(cases)('is quarantined with EICAR as $place, packed $packing', async ({ packing, place, parts, member }) => {
    const name = `infected-${packing}-${place.replaceAll(' ', '-')}`
    const deb = packedDeb({ name, packing, ...parts(name) })
    // The raw file must not contain EICAR, so that only a scan of the members finds it.
    if (packing !== 'none') expect(deb.includes(eicar())).toBe(false)
    const quarantinedBefore = await metric('svc_uploads_total{status="quarantined"}')
    const heldBefore = await metric('svc_quarantine_total')

    const { status, headers, body } = await upload(deb)
    expect([status, headers.get('x-package-status')]).toEqual([201, 'quarantined'])
    expect(body).toMatchObject({
      status: 'quarantined',
      pipeline: { antivirus: 'infected', ...LATER_KEYS },
      held_reason: null,
      validation: { passed: false, cve_status: null },
    })
    const step = (
      body.validation.steps as { name: string; passed: boolean; detail: { signature: string; member: string } }[]
    ).find((one) => one.name === 'antivirus')
    expect(step).toMatchObject({ passed: false, detail: { signature: expect.stringMatching(/EICAR/) as string } })
    expect(step?.detail.member).toContain(member)

    const record = (await service.call('GET', `/artifacts/${name}`)).body.versions[0]
    expect(record).toMatchObject({
      status: 'quarantined',
      cve_status: null,
      served: false,
      quarantined_by: 'system',
      quarantined_at: expect.any(String) as string,
    })

    // The bytes are in quarantine, readable only by the service, and nowhere else.
    const digest = sha256(deb)
    const held = await holding(service.reposDir, digest)
    expect(held).toHaveLength(1)
    const [path = ''] = held
    expect(path).toMatch(/^staging\/quarantine\//)
    expect((await stat(join(service.reposDir, 'staging/quarantine'))).mode & 0o077).toBe(0)
    for (const origin of [service.apt, service.rpm, service.api]) {
      for (const guessed of guessedPaths(path, body.filename as string)) {
        const got = await get(origin, guessed)
        expect([guessed, got.status >= 400, got.sha256 === digest]).toEqual([guessed, true, false])
      }
    }

    expect(await indexText()).not.toContain(`Package: ${name}\n`)
    expect((await service.call('GET', '/packages/')).body.packages).not.toContain(body.filename)
    expect(await lastUpload(name)).toMatchObject({
      result: 'FAILURE',
      outcome: 'quarantined',
      user: 'admin',
      version: '1',
    })
    expect(await metric('svc_uploads_total{status="quarantined"}')).toBe(quarantinedBefore + 1)
    expect(await metric('svc_quarantine_total')).toBe(heldBefore + 1)
  })

  it('stays quarantined when it is uploaded again', async () => {
    const deb = packedDeb({ name: 'twice-infected', packing: 'xz', files: { 'usr/bin/virus': eicar() } })
    expect((await upload(deb)).body.status).toBe('quarantined')
    const again = await upload(deb)
    expect([again.status, again.body.code, again.body.status]).toEqual([409, 'already_exists', 'quarantined'])
  })

  it('is detected in a compressed archive inside the package', async () => {
    const inner = gzipSync(buildTar([{ name: 'virus', content: eicar() }]))
    const { status, body } = await upload(
      packedDeb({ name: 'nested', packing: 'zst', files: { 'usr/share/inner.tar.gz': inner } }),
    )
    expect([status, body.status]).toEqual([201, 'quarantined'])
  })

  it('answers 409 policy_blocked to ?strict=true, with the same record', async () => {
    const form = new FormData()
    form.set('distribution', 'bookworm')
    form.set(
      'file',
      new Blob([
        packedDeb({
          name: 'strictly-infected',
          packing: 'gz',
          files: { 'usr/bin/virus': eicar() },
        }),
      ]),
      'a.deb',
    )
    const answer = await fetch(`${service.api}/api/v1/upload/?strict=true`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${service.token}` },
    })
    expect(answer.status).toBe(409)
    expect(await answer.json()).toMatchObject({ code: 'policy_blocked', status: 'quarantined' })
  })
})

describe('a clean package', () => {
  it.each(Object.keys(PACKERS) as Packing[])('is published with its scan coverage, packed %s', async (packing) => {
    const name = `clean-${packing}`
    const files = { 'usr/share/one': 'one', 'usr/share/two': Buffer.alloc(300_000, 'two ') }
    const deb = packedDeb({ name, packing, scripts: { postinst: '#!/bin/sh\n' }, files })
    const { status, body } = await upload(deb)
    expect([status, body.status]).toEqual([201, 'published'])
    expect(body.pipeline.antivirus).toBe('clean')
    // control, postinst, filler, one, two, and the file itself
    expect(body.coverage.antivirus).toMatchObject({
      engine: 'ClamAV',
      engine_version: expect.stringMatching(/^\d+\.\d+/) as string,
      files_seen: 6,
      files_skipped: [],
    })
    expect(body.coverage.antivirus.bytes).toBeGreaterThan(deb.length + 300_000)
    expect(await indexText()).toContain(`Package: ${name}\n`)
    expect((await service.call('GET', `/artifacts/${name}`)).body.versions[0].coverage.antivirus.files_seen).toBe(6)

    // The checks that find nothing of an infected package do find this one.
    const [, path = ''] = new RegExp(`^Filename: (\\S+/${name}_\\S+)$`, 'm').exec(await indexText()) ?? []
    expect(await get(service.apt, `/repos/${path}`)).toEqual({ status: 200, sha256: sha256(deb) })
    expect((await holding(service.reposDir, sha256(deb))).some((held) => held.startsWith('pool/'))).toBe(true)
  })
})

describe('a package with a file over the stream limit', () => {
  const tooLong = (name: string) =>
    packedDeb({ name, packing: 'gz', files: { 'usr/share/long': Buffer.alloc(2 * MIB, 'long ') } })

  it('is held and not served with on_unscanned hold', async () => {
    const deb = tooLong('too-long-hold')
    const { status, body } = await upload(deb)
    expect([status, body.status, body.held_reason, body.pipeline.antivirus]).toEqual([
      201,
      'pending_review',
      'unscanned',
      'limited',
    ])
    expect(body.coverage.antivirus.files_skipped).toEqual([
      { name: 'usr/share/long', reason: expect.stringContaining(String(2 * MIB)) as string },
    ])
    expect(await indexText()).not.toContain('Package: too-long-hold\n')
    const [path = ''] = await holding(service.reposDir, sha256(deb))
    for (const guessed of guessedPaths(path, body.filename as string))
      expect((await get(service.apt, guessed)).status).toBeGreaterThanOrEqual(400)
    expect(await lastUpload('too-long-hold')).toMatchObject({ result: 'WARNING', outcome: 'pending_review' })
  })

  it('is refused with on_unscanned refuse, and nothing of it is stored', async () => {
    await configure({ on_unscanned: 'refuse' })
    const deb = tooLong('too-long-refuse')
    const { status, headers, body } = await upload(deb)
    expect([status, body.code]).toEqual([503, 'scan_incomplete'])
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await lastUpload('too-long-refuse')).toMatchObject({ result: 'FAILURE', outcome: 'scan_incomplete' })
    refused.push({ name: 'too-long-refuse', sha256: sha256(deb) })
  })

  it('is published with a warning with on_unscanned allow', async () => {
    await configure({ on_unscanned: 'allow' })
    const { status, body } = await upload(tooLong('too-long-allow'))
    expect([status, body.status, body.pipeline.antivirus]).toEqual([201, 'published', 'limited'])
    expect(body.warnings).toEqual([expect.stringContaining('usr/share/long')])
    expect(await indexText()).toContain('Package: too-long-allow\n')
  })

  it('is quarantined when another of its files is infected', async () => {
    await configure({ on_unscanned: 'allow' })
    const files = { 'usr/share/long': Buffer.alloc(2 * MIB), 'usr/share/virus': eicar() }
    expect((await upload(packedDeb({ name: 'too-long-infected', packing: 'gz', files }))).body).toMatchObject({
      status: 'quarantined',
      pipeline: { antivirus: 'infected' },
    })
  })
})

describe('with the malware scan disabled', () => {
  it('an infected package is published and its scan is shown as skipped', async () => {
    await configure({ clamav_scan: false })
    const { status, body } = await upload(
      packedDeb({ name: 'not-looked-at', packing: 'gz', files: { 'usr/bin/virus': eicar() } }),
    )
    expect([status, body.status, body.pipeline.antivirus]).toEqual([201, 'published', 'skipped'])
    expect(body.coverage.antivirus).toBeNull()
  })
})

describe('while clamd is down', () => {
  it.each(['hold', 'allow', 'refuse'])('every upload answers 503, with on_unscanned %s', async (rule) => {
    await configure({ on_unscanned: rule })
    await stopScanner()
    const name = `scanner-down-${rule}`
    const deb = packedDeb({ name, packing: 'gz' })
    const { status, headers, body } = await upload(deb)
    expect([status, body.code]).toEqual([503, 'scanner_unavailable'])
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect((await service.call('GET', `/artifacts/${name}`)).status).toBe(404)
    expect(await lastUpload(name)).toMatchObject({ result: 'FAILURE', outcome: 'scanner_unavailable' })
    refused.push({ name, sha256: sha256(deb) })
  })

  it('a package is accepted as soon as clamd runs again', async () => {
    const deb = packedDeb({ name: 'patient', packing: 'gz' })
    expect((await upload(deb)).status).toBe(503)
    await startScanner()
    expect((await upload(deb)).body).toMatchObject({ status: 'published', pipeline: { antivirus: 'clean' } })
  })
})

describe('a refused package', () => {
  it('leaves only its audit entry, in the database and on disk', async () => {
    expect(refused).toHaveLength(4)
    await service.stop()
    expect(await readdir(join(service.reposDir, 'staging/incoming'), { recursive: true })).toEqual([])
    for (const { sha256: digest } of refused) expect(await holding(service.reposDir, digest)).toEqual([])
    const database = await openDatabase(service.databaseUrl)
    try {
      const { rows: tables } = await sql<{
        name: string
      }>`select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`.execute(
        database.db,
      )
      const mentions = async (text: string) => {
        const found: string[] = []
        for (const { name: table } of tables.filter(({ name }) => !name.startsWith('audit'))) {
          const { rows } = await sql<{
            n: number
          }>`select count(*)::int as n from ${sql.table(table)} as t where t::text like ${`%${text}%`}`.execute(
            database.db,
          )
          if (rows[0]?.n) found.push(table)
        }
        return found
      }
      // The query finds a stored package, so an empty result means that nothing is stored.
      expect(await mentions('clean-gz')).toContain('packages')
      for (const { name, sha256: digest } of refused)
        expect([...(await mentions(name)), ...(await mentions(digest))]).toEqual([])
    } finally {
      await database.close()
    }
  })
})
