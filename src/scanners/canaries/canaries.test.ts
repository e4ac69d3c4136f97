import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { eicar } from '../../../test/fakes/clamd.ts'
import { findDistribution, formats, recognize } from '../../formats/index.ts'
import type { Antivirus, AntivirusResult, CveResult, CveScanner, ScanTarget } from '../scanner.ts'
import { createCanaries, type KnownHole } from './canaries.ts'
import { CANARY_PACKAGES } from './packages.ts'

const coverage = {
  engine: 'fake',
  engine_version: '1',
  database_date: null,
  distro_matched: null,
  files_seen: 1,
  files_skipped: [],
  bytes: 1,
}
const distributions = ['jammy', 'almalinux9'].map((codename) => findDistribution(codename)!.distribution)
let workDirectory: string

beforeEach(async () => {
  workDirectory = await mkdtemp(join(tmpdir(), 'canaries-'))
})
afterEach(() => rm(workDirectory, { recursive: true }))

test.each(formats)(
  'the $id canary is a package of its format with the EICAR test file in it, which its raw bytes do not show',
  async (format) => {
    const bytes = Buffer.from(CANARY_PACKAGES[format.id], 'base64')
    expect(recognize(bytes)?.id).toBe(format.id)
    expect(bytes.includes(eicar())).toBe(false)
    const path = join(workDirectory, 'canary')
    await writeFile(path, bytes)
    expect(await format.read(path)).toMatchObject({ name: 'canary' })
    const found: string[] = []
    for await (const member of format.members(path)) {
      const parts: Uint8Array[] = []
      for await (const part of member.content) parts.push(part)
      if (Buffer.concat(parts).equals(eicar())) found.push(member.name)
    }
    expect(found).toHaveLength(1)
  },
)

/** An engine that finds EICAR in the members of formats it sees into, with signatures of some version. */
function engineOf(state: {
  blindTo: string[]
  version: string | null
  available: boolean
  down?: boolean
  scans: number
}): Antivirus {
  return {
    status: async () => ({
      available: state.available,
      engine: 'fake',
      version: '1',
      db_version: state.version,
      db_date: null,
      db_updated_at: null,
      db_files: [],
      daemon_running: true,
      cooldown_until: null,
      error: null,
    }),
    async scan(target: ScanTarget): Promise<AntivirusResult> {
      state.scans++
      if (state.down) throw new Error('connection refused')
      let infected = false
      for await (const member of target.members()) {
        for await (const part of member.content) infected ||= Buffer.from(part).includes(eicar())
      }
      const seen = infected && !state.blindTo.some((suffix) => target.filename.endsWith(suffix))
      return { word: seen ? 'infected' : 'clean', signature: null, member: null, message: '', coverage }
    },
  }
}

const noScanner: CveScanner = {
  name: 'osv',
  scan: async () => ({ word: 'no_data', findings: [], message: '', coverage }),
}
const upload = (filename: string): ScanTarget => ({ path: '', filename, sizeBytes: 1, async *members() {} })

function canariesOf(antivirus: Antivirus | null, scanner = noScanner, holes: KnownHole[] = []) {
  return createCanaries({
    antivirus,
    scanners: [scanner],
    distributions,
    formats,
    knownHoles: async () => holes,
    workDirectory,
    clock: { now: () => new Date() },
    onError: () => {},
  })
}

describe('a malware scanner', () => {
  test('that sees is believed, and shown the canaries again only when its signatures change', async () => {
    const state = { blindTo: [] as string[], version: '1' as string | null, available: true, scans: 0 }
    const engine = engineOf(state)
    const guarded = canariesOf(engine).guardAntivirus(engine)
    expect(await guarded.scan(upload('x.deb'))).toMatchObject({ word: 'clean' })
    expect(state.scans).toBe(formats.length + 1)
    await guarded.scan(upload('x.deb'))
    expect(state.scans).toBe(formats.length + 2)
    state.version = '2'
    await guarded.scan(upload('x.deb'))
    expect(state.scans).toBe(2 * formats.length + 3)
    expect(await readdir(workDirectory)).toEqual([])
  })

  test('that goes blind for a format calls nothing of it clean until it sees again', async () => {
    const state = { blindTo: [] as string[], version: '1' as string | null, available: true, scans: 0 }
    const engine = engineOf(state)
    const canaries = canariesOf(engine)
    const guarded = canaries.guardAntivirus(engine)
    expect(await guarded.scan(upload('x.rpm'))).toMatchObject({ word: 'clean' })
    Object.assign(state, { blindTo: ['.rpm'], version: '2' })
    expect(await guarded.scan(upload('x.rpm'))).toMatchObject({
      word: 'error',
      message: expect.stringContaining('EICAR'),
    })
    expect(await guarded.scan(upload('x.deb'))).toMatchObject({ word: 'clean' })
    expect(canaries.state().scopes).toContainEqual({ scanner: 'clamav', scope: 'rpm', blind: true })
    Object.assign(state, { blindTo: [], version: '3' })
    expect(await guarded.scan(upload('x.rpm'))).toMatchObject({ word: 'clean' })
  })

  test('that is down is not blind, and one that was blind stays so while it is down', async () => {
    const state = { blindTo: ['.apk'], version: '1' as string | null, available: true, down: true, scans: 0 }
    const canaries = canariesOf(engineOf(state))
    expect((await canaries.check()).every(({ blind }) => !blind)).toBe(true)
    state.down = false
    expect(await canaries.check()).toContainEqual({ scanner: 'clamav', scope: 'apk', blind: true })
    state.down = true
    expect(await canaries.check()).toContainEqual({ scanner: 'clamav', scope: 'apk', blind: true })
  })
})

describe('a vulnerability scanner', () => {
  const scannerOf = (sees: (name: string) => boolean): CveScanner => ({
    name: 'osv',
    async scan({ facts }): Promise<CveResult> {
      const findings = sees(facts.name) ? [{ id: 'CVE-2026-0001' } as CveResult['findings'][number]] : []
      return { word: 'scanned', findings, message: '', coverage }
    },
  })
  const facts = { name: 'uploaded' } as never

  test('that finds one of the known holes is believed', async () => {
    const scanner = scannerOf((name) => name === 'second')
    const canaries = canariesOf(null, scanner, [
      { name: 'first', version: '0' },
      { name: 'second', version: '0' },
    ])
    expect(await canaries.check()).toEqual(
      distributions.map(({ codename }) => ({ scanner: 'osv', scope: codename, blind: false })),
    )
    expect(await canaries.guardCve(scanner).scan({ facts, distribution: distributions[0]! })).toMatchObject({
      word: 'scanned',
    })
  })

  test('that finds none of them finds no package clean; what it does find still counts', async () => {
    const scanner = scannerOf((name) => name === 'holey')
    const canaries = canariesOf(null, scanner, [{ name: 'first', version: '0' }])
    await canaries.check()
    const guarded = canaries.guardCve(scanner)
    expect(await guarded.scan({ facts, distribution: distributions[0]! })).toMatchObject({ word: 'error' })
    expect(await guarded.scan({ facts: { name: 'holey' } as never, distribution: distributions[0]! })).toMatchObject({
      word: 'scanned',
      findings: [{ id: 'CVE-2026-0001' }],
    })
  })

  test('of a distribution without advisories is not asked', async () => {
    expect(
      await canariesOf(
        null,
        scannerOf(() => false),
      ).check(),
    ).toEqual([])
  })
})
