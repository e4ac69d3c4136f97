import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { eicar } from '../../../../test/fakes/clamd.ts'
import { findDistribution, formatOf, formats, recognize } from '../../../formats/index.ts'
import type { Antivirus, AntivirusResult, CveResult, CveScanner, ScanTarget } from '../scanner.ts'
import { createCanaries } from './canaries.ts'
import { createKnownVulnerable, type KnownVulnerable } from './known-vulnerable.ts'

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
    const bytes = Buffer.from(format.canary.infectedPackage, 'base64')
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

/** An engine that finds EICAR in the members of every format but those it misses. */
function engineOf(state: {
  misses: string[]
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
      for await (const member of target.contents({ maxStreamBytes: 1, engine: null }, () => {})) {
        for await (const part of member.content) infected ||= Buffer.from(part).includes(eicar())
      }
      const seen = infected && !state.misses.some((suffix) => target.filename.endsWith(suffix))
      return { result: seen ? 'infected' : 'clean', signature: null, member: null, message: '', coverage }
    },
  }
}

const noScanner: CveScanner = {
  name: 'osv',
  scan: async () => ({ result: 'no_data', findings: [], message: '', coverage }),
}
const upload = (filename: string): ScanTarget => ({ path: '', filename, sizeBytes: 1, async *contents() {} })

function canariesOf(antivirus: Antivirus | null, scanner = noScanner, known: KnownVulnerable[] = []) {
  return createCanaries({
    antivirus,
    scanners: [scanner],
    distributions,
    formats,
    knownVulnerable: async () => known,
    contents: (id, path) => formatOf(id).members(path),
    newPath: () => join(workDirectory, 'canary'),
    clock: { now: () => new Date() },
    onError: () => {},
  })
}

describe('a malware scanner', () => {
  test('is trusted after a passed self-test, and tested again only when its signatures change', async () => {
    const state = { misses: [] as string[], version: '1' as string | null, available: true, scans: 0 }
    const engine = engineOf(state)
    const guarded = canariesOf(engine).guardAntivirus(engine)
    expect(await guarded.scan(upload('x.deb'))).toMatchObject({ result: 'clean' })
    expect(state.scans).toBe(formats.length + 1)
    await guarded.scan(upload('x.deb'))
    expect(state.scans).toBe(formats.length + 2)
    state.version = '2'
    await guarded.scan(upload('x.deb'))
    expect(state.scans).toBe(2 * formats.length + 3)
    expect(await readdir(workDirectory)).toEqual([])
  })

  test('reports an error for every clean file of a format in which its self-test failed, until it passes', async () => {
    const state = { misses: [] as string[], version: '1' as string | null, available: true, scans: 0 }
    const engine = engineOf(state)
    const canaries = canariesOf(engine)
    const guarded = canaries.guardAntivirus(engine)
    expect(await guarded.scan(upload('x.rpm'))).toMatchObject({ result: 'clean' })
    Object.assign(state, { misses: ['.rpm'], version: '2' })
    expect(await guarded.scan(upload('x.rpm'))).toMatchObject({
      result: 'error',
      message: expect.stringContaining('EICAR'),
    })
    expect(await guarded.scan(upload('x.deb'))).toMatchObject({ result: 'clean' })
    expect(canaries.state().scopes).toContainEqual({ scanner: 'clamav', scope: 'rpm', failed: true })
    Object.assign(state, { misses: [], version: '3' })
    expect(await guarded.scan(upload('x.rpm'))).toMatchObject({ result: 'clean' })
  })

  test('keeps its last result while it is down', async () => {
    const state = { misses: ['.apk'], version: '1' as string | null, available: true, down: true, scans: 0 }
    const canaries = canariesOf(engineOf(state))
    expect((await canaries.check()).every(({ failed }) => !failed)).toBe(true)
    state.down = false
    expect(await canaries.check()).toContainEqual({ scanner: 'clamav', scope: 'apk', failed: true })
    state.down = true
    expect(await canaries.check()).toContainEqual({ scanner: 'clamav', scope: 'apk', failed: true })
  })
})

describe('a vulnerability scanner', () => {
  const scannerOf = (sees: (name: string) => boolean): CveScanner => ({
    name: 'osv',
    async scan({ facts }): Promise<CveResult> {
      const findings = sees(facts.name) ? [{ id: 'CVE-2026-0001' } as CveResult['findings'][number]] : []
      return { result: 'scanned', findings, message: '', coverage }
    },
  })
  const facts = { name: 'uploaded' } as never

  test('is trusted when it finds one of the known vulnerabilities', async () => {
    const scanner = scannerOf((name) => name === 'second')
    const canaries = canariesOf(null, scanner, [
      { name: 'first', version: '0' },
      { name: 'second', version: '0' },
    ])
    expect(await canaries.check()).toEqual(
      distributions.map(({ codename }) => ({ scanner: 'osv', scope: codename, failed: false })),
    )
    expect(await canaries.guardCve(scanner).scan({ facts, distribution: distributions[0]! })).toMatchObject({
      result: 'scanned',
    })
  })

  test('reports an error for every package without findings when it finds none of them, and keeps its findings', async () => {
    const scanner = scannerOf((name) => name === 'vulnerable')
    const canaries = canariesOf(null, scanner, [{ name: 'first', version: '0' }])
    await canaries.check()
    const guarded = canaries.guardCve(scanner)
    expect(await guarded.scan({ facts, distribution: distributions[0]! })).toMatchObject({ result: 'error' })
    expect(
      await guarded.scan({ facts: { name: 'vulnerable' } as never, distribution: distributions[0]! }),
    ).toMatchObject({
      result: 'scanned',
      findings: [{ id: 'CVE-2026-0001' }],
    })
  })

  test('is not tested for a distribution without advisories', async () => {
    expect(
      await canariesOf(
        null,
        scannerOf(() => false),
      ).check(),
    ).toEqual([])
  })
})

test('the known vulnerable packages are queried once per advisory generation and distribution', async () => {
  let generation = 1
  let queries = 0
  const knownVulnerable = createKnownVulnerable({
    state: async () => ({ generation, ecosystems: { 'Ubuntu:22.04:LTS': { entries: 1, newest: null } } }),
    namesOf: async () => [`query-${++queries}`],
    lowestVersion: () => '0~~',
  })
  const [jammy, almalinux] = distributions as [(typeof distributions)[0], (typeof distributions)[0]]
  for (let hour = 0; hour < 3; hour++)
    expect(await knownVulnerable(jammy)).toEqual([{ name: 'query-1', version: '0~~' }])
  expect(await knownVulnerable(almalinux)).toEqual([])
  expect(queries).toBe(1)
  generation = 2
  expect(await knownVulnerable(jammy)).toEqual([{ name: 'query-2', version: '0~~' }])
})
