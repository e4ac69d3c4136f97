// Runs the engine against a real clamd with test signatures, over both kinds of socket:
// `npx vitest run --config vitest.suites.config.ts test/antivirus`.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLog } from '../../src/kernel/log.ts'
import { createClamav, type ClamavOptions } from '../../src/gate/engines/clamav/clamav.ts'
import type { ScanMember } from '../../src/gate/engines/scanner.ts'
import { eicar } from '../fakes/clamd.ts'
import { BODY_MARKER, startClamd, type RealClamd } from './real-clamd.ts'
import { createTarget, inPieces, manyFiles, opened, type Files } from './target.ts'
import { hidden, unopened } from './nested.ts'
import { ambiguous, unmarked } from './unmarked.ts'
import { zipOf } from './zip.ts'

const MIB = 1024 * 1024

let directory: string
let clamd: RealClamd
let running: RealClamd[] = []

beforeAll(async () => {
  clamd = await startClamd(['StreamMaxLength 200M', 'MaxFileSize 200M', 'MaxScanSize 400M', 'AlertExceedsMax yes'])
})
afterAll(() => clamd.stop())
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'clamd-test-'))
})
afterEach(async () => {
  await Promise.all(running.map((one) => one.stop()))
  running = []
  await rm(directory, { recursive: true })
})

async function another(settings: string[]): Promise<RealClamd> {
  const started = await startClamd(settings)
  running.push(started)
  return started
}

const target = (files: Files, raw?: Buffer | string) => createTarget(directory, files, raw)
const engine = (address: ClamavOptions['address'], options: Partial<ClamavOptions> = {}) =>
  createClamav({
    address,
    maxStreamBytes: 200 * MIB,
    clock: { now: () => new Date() },
    log: createLog('silent'),
    ...options,
  })

describe.each(['unix', 'tcp'] as const)('over %s', (kind) => {
  it('passes clean members and counts them', async () => {
    const result = await engine(clamd[kind]).scan(await target({ a: 'one', b: Buffer.alloc(MIB, 1), c: '' }, 'raw'))
    expect(result).toMatchObject({ result: 'clean', coverage: { engine: 'ClamAV', files_seen: 4, files_skipped: [] } })
    expect(result.coverage.bytes).toBe(3 + MIB + 3)
    expect(result.coverage.engine_version).toMatch(/^\d+\.\d+/)
    expect(result.coverage.database_date).toBeNull()
  })

  it('finds EICAR by its hash in a member, although the raw package does not contain it', async () => {
    const raw = gzipSync(eicar()).reverse()
    const result = await engine(clamd[kind]).scan(await target({ 'usr/bin/ok': 'x', 'usr/bin/bad': eicar() }, raw))
    expect(result).toMatchObject({ result: 'infected', member: 'usr/bin/bad' })
    expect(result.signature).toMatch(/^Test\.(Hash|Body)\.EICAR\.UNOFFICIAL$/)
  })

  it.each([
    ['a small member', Buffer.from(`x ${BODY_MARKER} y`)],
    ['a large member', Buffer.concat([Buffer.alloc(3 * MIB), Buffer.from(BODY_MARKER), Buffer.alloc(3 * MIB)])],
    ['a compressed member', gzipSync(BODY_MARKER)],
  ])('finds a body signature in %s', async (_, content) => {
    const result = await engine(clamd[kind]).scan(await target({ a: 'x', b: content }))
    expect(result).toMatchObject({ result: 'infected', member: 'b', signature: 'Test.Body.UNOFFICIAL' })
  })

  it('finds and names one member among 3,000 small ones', async () => {
    const files = { ...manyFiles(2_990), 'opt/bad': eicar(), last: 'x' }
    expect(await engine(clamd[kind]).scan(await target(files))).toMatchObject({ result: 'infected', member: 'opt/bad' })
  })

  it('finds a member behind a zip of more files than MaxFiles allows', async () => {
    const files = { 'a.zip': zipOf(10_500), bad: eicar() }
    expect(await engine(clamd[kind]).scan(await target(files))).toMatchObject({ result: 'infected', member: 'bad' })
  })

  it('returns `limited` for that zip when it finds nothing else', async () => {
    const result = await engine(clamd[kind]).scan(await target({ 'a.zip': zipOf(10_500), ok: 'x' }))
    expect(result).toMatchObject({ result: 'limited', coverage: { files_seen: 2, files_skipped: [{ name: 'a.zip' }] } })
  })

  it('returns `limited` every time clamd stops a stream at its limit while the engine sends it', async () => {
    const small = await another(['StreamMaxLength 2M'])
    const antivirus = engine(small[kind])
    const file = await target({ a: 'x', big: Buffer.alloc(9 * MIB), b: 'y' })
    for (let n = 0; n < 50; n++) {
      const result = await antivirus.scan(file)
      expect(result).toMatchObject({ result: 'limited', coverage: { files_seen: 3, files_skipped: [{ name: 'big' }] } })
    }
  })

  it('reports the scanner unavailable when the daemon stopped before or during a scan', async () => {
    const mortal = await another([])
    const antivirus = engine(mortal[kind])
    const file = await target({})
    let given = 0
    async function* members(): AsyncGenerator<ScanMember> {
      for (; given < 5_000; given++) {
        if (given === 500) await mortal.stop()
        yield { name: `f${given}`, sizeBytes: 10, content: inPieces(Buffer.from(`content ${given}`)) }
      }
    }
    const gone = { code: 'scanner_unavailable', retryAfterSeconds: 30 }
    await expect(antivirus.scan({ ...file, contents: opened(directory, members) })).rejects.toMatchObject(gone)
    expect(given).toBeLessThan(600)
    await expect(antivirus.scan(file)).rejects.toMatchObject(gone)
    await expect(antivirus.status()).resolves.toBeDefined()
  })
})

describe('required settings of clamd', () => {
  // Shows why the deployed clamd.conf sets AlertExceedsMax, and why maxStreamBytes must not exceed MaxFileSize.
  const tooLong = () => Buffer.concat([Buffer.from(BODY_MARKER), Buffer.alloc(3 * MIB)])

  it('AlertExceedsMax makes the result of a member above MaxFileSize `limited`', async () => {
    const telling = await another(['MaxFileSize 2M', 'AlertExceedsMax yes'])
    const result = await engine(telling.unix).scan(await target({ a: tooLong() }))
    expect(result).toMatchObject({ result: 'limited', coverage: { files_skipped: [{ name: 'a' }] } })
  })

  it('without it clamd reports the same member as OK, unless maxStreamBytes is at most MaxFileSize', async () => {
    const silent = await another(['MaxFileSize 2M'])
    const file = await target({ a: tooLong() })
    expect((await engine(silent.unix).scan(file)).result).toBe('clean')
    expect((await engine(silent.unix, { maxStreamBytes: 2 * MIB }).scan(file)).result).toBe('limited')
  })

  it('a session that clamd closes because a scan takes longer than ReadTimeout loses no result', async () => {
    const hasty = await another(['ReadTimeout 1', 'CommandReadTimeout 1', 'MaxScanSize 2000M'])
    // A small file, so that it goes through the session, but its scan takes long.
    const files = { 'slow.zip': zipOf(3, 60 * MIB), ok: 'x' }
    const result = await engine(hasty.unix).scan(await target(files))
    expect(result).toMatchObject({ result: 'clean', coverage: { files_seen: 3, files_skipped: [] } })
  })
})

describe('limits and archives', () => {
  const ALERTS = ['AlertExceedsMax yes', 'AlertEncrypted yes', 'AlertBrokenExecutables yes']
  // A new daemon each time, because clamd remembers files that it reported as clean.
  const measured = async (settings: string[]) => {
    const antivirus = engine((await another(settings)).unix)
    await antivirus.measureLimits()
    return antivirus
  }

  it.each([
    [
      'by default',
      [],
      { reports_exceeded: false, reports_encrypted: false, depth: 15, files: 9_900, bytes: 380 * MIB },
    ],
    [
      'as Debian configures it',
      ['MaxScanSize 100M', 'MaxFileSize 25M', 'MaxRecursion 16', 'MaxFiles 10000', 'StreamMaxLength 25M'],
      { reports_exceeded: false, depth: 15, files: 9_900, bytes: 90 * MIB, file_bytes: 24 * MIB },
    ],
    ['with small limits', ['MaxRecursion 5', 'MaxFiles 1000'], { reports_exceeded: false, depth: 4, files: 900 }],
    ['with alerts', ALERTS, { reports_exceeded: true, reports_encrypted: true, depth: null, files: null, bytes: null }],
  ])('are measured %s', async (_, settings, limits) => {
    const antivirus = await measured(settings)
    expect((await antivirus.status()).limits).toMatchObject(limits)
    const { coverage } = await antivirus.scan(await target({ a: 'x' }))
    expect(coverage.engine_limits).toMatchObject(limits)
  })

  it.each([
    ['that reports nothing', []],
    ['with all alerts', ALERTS],
  ])(
    'a daemon %s gets the contents of files that it does not open, and no unopened file is clean',
    async (_, settings) => {
      const antivirus = await measured(settings)
      for (const [title, name, content] of [...(await hidden()), ...unmarked()]) {
        const result = await antivirus.scan(await target({ ok: 'x', [name]: content }))
        expect([title, result.result]).toEqual([title, 'infected'])
      }
      for (const [title, content] of [...(await unopened()), ...ambiguous()]) {
        if (['a 7-Zip archive', 'a RAR archive'].includes(title) && settings.length > 0) continue
        const result = await antivirus.scan(await target({ ok: 'x', member: content }))
        expect([title, result.result]).toEqual([
          title,
          title.includes('nested') ? expect.stringMatching(/limited|infected/) : 'limited',
        ])
      }
      const many = await antivirus.scan(await target({ 'many.zip': zipOf(12_000) }))
      expect(many).toMatchObject({ result: 'limited', coverage: { files_skipped: [{ name: 'many.zip' }] } })
    },
  )

  it('a truncated executable is `limited` under AlertBrokenExecutables, not infected', async () => {
    const antivirus = await measured(ALERTS)
    const elf = Buffer.alloc(200)
    elf.write('\x7fELF\x02\x01\x01', 'latin1')
    elf.writeUInt16LE(2, 16)
    elf.writeUInt16LE(62, 18)
    elf.writeUInt32LE(1, 20)
    elf.writeBigUInt64LE(0x4000_0000n, 32)
    elf.writeUInt16LE(64, 52)
    elf.writeUInt16LE(56, 54)
    elf.writeUInt16LE(200, 56)
    const result = await antivirus.scan(await target({ broken: elf }))
    expect(result).toMatchObject({ result: 'limited', coverage: { files_skipped: [{ name: 'broken' }] } })
  })
})

describe('the status', () => {
  it('contains version and database files', async () => {
    expect(await engine(clamd.unix, { databaseDirectory: clamd.databaseDirectory }).status()).toMatchObject({
      available: true,
      engine: 'ClamAV',
      version: expect.stringMatching(/^\d+\.\d+/),
      db_version: null,
      db_files: ['test.hdb', 'test.ndb'],
      db_updated_at: expect.stringContaining('T'),
      daemon_running: true,
      error: null,
    })
  })
})

describe('cost', () => {
  // Runs first, before this process has allocated anything large.
  it('takes far less than 100 MiB of memory for a package of 500 MiB', async () => {
    const piece = Buffer.alloc(64 * 1024, 'abc')
    async function* content(bytes: number) {
      for (let given = 0; given < bytes; given += piece.length) yield Buffer.from(piece)
    }
    async function* members(): AsyncGenerator<ScanMember> {
      for (let n = 0; n < 4; n++) yield { name: `huge${n}`, sizeBytes: 125 * MIB, content: content(125 * MIB) }
    }
    const file = await target({})
    const before = process.memoryUsage().rss
    let highest = before
    const watch = setInterval(() => (highest = Math.max(highest, process.memoryUsage().rss)), 5)
    const start = performance.now()
    const result = await engine(clamd.unix).scan({ ...file, contents: opened(directory, members) })
    clearInterval(watch)
    const grown = (highest - before) / MIB
    console.log(
      `500 MiB: ${((performance.now() - start) / 1000).toFixed(1)} s, resident memory +${grown.toFixed(0)} MiB`,
    )
    expect(result).toMatchObject({ result: 'clean', coverage: { files_seen: 5 } })
    expect(grown).toBeLessThan(100)
  })

  it('prints the time of 5,000 small members and of 100 MB', async () => {
    const time = async (files: Files) => {
      const file = await target(files)
      const start = performance.now()
      expect((await engine(clamd.unix).scan(file)).result).toBe('clean')
      return (performance.now() - start) / 1000
    }
    const members = Object.entries(manyFiles(5_000)).map(([name, text]) => [name, `${String(text)}\n`.repeat(70)])
    const small = await time(Object.fromEntries(members))
    const large = await time(
      Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`big${n}`, Buffer.alloc(10_000_000, `${n}`)])),
    )
    console.log(
      `5,000 members of 1.5 KB: ${small.toFixed(2)} s; 100 MB in ten members: ${(100 / large).toFixed(0)} MB/s`,
    )
  })
})
