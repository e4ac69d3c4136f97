// The memory that a package of 500 MB costs the service, for each compression and with a scanner.
import { openAsBlob } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startClamd, type RealClamd } from '../antivirus/real-clamd.ts'
import { need } from '../need.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { writeLargeDeb, type LargeDeb } from './large-deb.ts'

const MIB = 1024 * 1024
const MOST_ADDED = 150 * MIB
const FILE = 50 * MIB

let directory: string
const running: Service[] = []

beforeAll(async () => {
  need('clamav-daemon', 'zstd', 'xz-utils')
  directory = await mkdtemp(join(tmpdir(), 'large-'))
})
afterAll(async () => {
  await Promise.all(running.map((service) => service.stop()))
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

interface Measured extends Service {
  idleBytes: number
}

async function start(env: Record<string, string> = {}): Promise<Measured> {
  const service = await startService({ env, optimized: true })
  running.push(service)
  const { status } = await service.call('PATCH', '/settings/', { validation: { max_upload_size_mb: 700 } })
  expect(status).toBe(200)
  return { ...service, idleBytes: (await memory(service)).now }
}

async function memory(service: Service): Promise<{ now: number; most: number }> {
  const text = await readFile(`/proc/${service.process.pid}/status`, 'utf8')
  const kib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1])
  return { now: kib('VmRSS') * 1024, most: kib('VmHWM') * 1024 }
}

/** Streams the file to the service. @returns the answer, and the growth of the service above its idle size */
async function uploadMeasured(service: Measured, path: string): Promise<{ body: any; added: number }> {
  // proc(5): writing 5 resets the peak resident set size to the current one.
  await writeFile(`/proc/${service.process.pid}/clear_refs`, '5')
  const before = await memory(service)
  const form = new FormData()
  form.set('distribution', 'jammy')
  form.set('file', await openAsBlob(path), 'large.deb')
  const answer = await fetch(`${service.api}/api/v1/upload/`, {
    method: 'POST',
    body: form,
    headers: { authorization: `Bearer ${service.token}` },
  })
  const body: unknown = await answer.json()
  const { most } = await memory(service)
  const mib = (bytes: number) => Math.round(bytes / MIB)
  console.log(
    `idle ${mib(service.idleBytes)} MiB, before ${mib(before.now)}, at most ${mib(most)}: ${mib(most - service.idleBytes)} added`,
  )
  return { body, added: most - service.idleBytes }
}

async function large(deb: LargeDeb): Promise<string> {
  const path = join(directory, `${deb.name}.deb`)
  await writeLargeDeb(path, deb)
  return path
}

const parts = Array.from({ length: 10 }, () => FILE)
const PACKINGS: [string, Partial<LargeDeb>][] = [
  ['stored', {}],
  ['gz', { pack: { command: ['gzip', '-1'], suffix: '.gz' } }],
  ['zst', { pack: { command: ['zstd', '-q', '-1'], suffix: '.zst' } }],
  // The dictionary size of `xz -9`, which the reader must hold in memory. Preset 0 makes the package in less time.
  ['xz', { pack: { command: ['xz', '--lzma2=preset=0,dict=64MiB'], suffix: '.xz' }, distinctBytes: 20 * MIB }],
]

describe('a package of 500 MB', () => {
  describe('without a scanner', () => {
    let service: Measured
    beforeAll(async () => {
      service = await start()
    })
    it.each(PACKINGS)('adds less than 150 MB to the process, %s', async (packing, options) => {
      const path = await large({ name: `large-${packing}`, files: parts, ...options })
      const { body, added } = await uploadMeasured(service, path)
      await rm(path)
      expect(body, JSON.stringify(body)).toMatchObject({ status: 'published' })
      expect(added).toBeLessThan(MOST_ADDED)
    })
  })

  describe('scanned by clamd', () => {
    let clamd: RealClamd
    let service: Measured
    beforeAll(async () => {
      // clamd counts the package, the tar archive inside it and the files in that.
      const limits = ['StreamMaxLength 700M', 'MaxFileSize 700M', 'MaxScanSize 2000M', 'MaxFiles 20000']
      clamd = await startClamd([...limits, 'AlertExceedsMax yes'])
      service = await start({ CLAMAV_SOCKET: clamd.unix.path, CLAMAV_MAX_STREAM_MB: '600' })
    })
    afterAll(() => clamd?.stop())
    // Half a gigabyte only once: a scan takes up to a minute, and half as many files are enough to show growth with their number.
    it.each([
      ['of many files', parts.slice(5)],
      ['of one file', [500 * MIB]],
      ['of small files', Array.from({ length: 1280 }, () => 200 * 1024)],
    ])('adds less than 150 MB to the process, %s', async (what, files) => {
      const path = await large({ name: `scanned-${what.replaceAll(' ', '-')}`, files })
      const { body, added } = await uploadMeasured(service, path)
      await rm(path)
      expect(body, JSON.stringify(body)).toMatchObject({ status: 'published', pipeline: { antivirus: 'clean' } })
      expect(body.coverage.antivirus).toMatchObject({ files_seen: files.length + 2, files_skipped: [] })
      expect(added).toBeLessThan(MOST_ADDED)
    })
  })
})
