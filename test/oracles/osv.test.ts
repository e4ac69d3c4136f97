// Runs the embedded matcher on all published AlmaLinux advisories. Needs the project's shared data beside the checkout.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createTestDatabase } from '../database.ts'
import { factsToMatch, type Distribution, type PackageFacts } from '../../src/domain/package.ts'
import { versions as apk } from '../../src/formats/apk/versions.ts'
import { versions as deb } from '../../src/formats/deb/versions.ts'
import { versions as rpm } from '../../src/formats/rpm/versions.ts'
import { createOsvImporter } from '../../src/gate/engines/osv/import.ts'
import { createOsvMatcher, type OsvMatcher } from '../../src/gate/engines/osv/matcher.ts'
import type { FormatOrder } from '../../src/gate/engines/osv/orders.ts'
import { isObject, objectAt, objectsAt, parseJson, stringAt, stringsAt, type Json } from '../../src/domain/json.ts'
import { zipEntries } from '../../src/formats/archive/zip.ts'
import { createAdvisories, type Advisories } from '../../src/store/advisories/advisories.ts'
import type { Database } from '../../src/store/db.ts'

const DATA = join(import.meta.dirname, '..', '..', '..', 'shared', 'data', 'osv')
const RELEASES = [8, 9, 10]
const SAMPLES = 1000

const compare: FormatOrder = (format, a, b) => ({ deb, rpm, apk })[format]!.compare(a, b)
const clock = { now: () => new Date() }
const zipOf = (release: number) => join(DATA, `almalinux${release}.zip`)

interface Sample {
  advisory: Json
  id: string
  release: number
  name: string
  fixed: string
}

let database: Database
let advisories: Advisories
let matcher: OsvMatcher
const records = new Map<string, Json>()

beforeAll(async () => {
  for (const release of RELEASES) {
    if (!existsSync(zipOf(release)))
      throw new Error(`shared/data/osv/almalinux${release}.zip is missing beside the checkout`)
    for await (const entry of zipEntries(zipOf(release), 2 ** 26)) {
      const record = parseJson((await entry.read()).toString('utf8'))
      if (isObject(record)) records.set(stringAt(record, 'id')!, record)
    }
  }
  database = await createTestDatabase()
  advisories = createAdvisories({ db: database.db, clock })
  matcher = createOsvMatcher({ advisories, compare })
})
afterAll(async () => database?.close())

const importer = () =>
  createOsvImporter({
    advisories,
    compare,
    clock,
    workDirectory: DATA,
    download: () => Promise.reject(new Error('not here')),
  })

function distribution(release: number): Distribution {
  return {
    codename: `almalinux${release}`,
    format: 'rpm',
    architectures: ['x86_64'],
    component: null,
    scannerDistro: `almalinux:${release}`,
    os: 'AlmaLinux',
    osVersion: String(release),
    name: `AlmaLinux ${release}`,
    fullName: `AlmaLinux ${release}`,
    packageManager: 'dnf',
  }
}

const facts = (name: string, version: string): PackageFacts =>
  factsToMatch({ format: 'rpm', name, version, arch: 'x86_64', sourcePackage: null, sourceVersion: null })

const fixesIn = (record: Json, release: number, name?: string) =>
  objectsAt(record, 'affected').flatMap((entry) => {
    const fits = stringAt(objectAt(entry, 'package'), 'ecosystem') === `AlmaLinux:${release}`
    const own = stringAt(objectAt(entry, 'package'), 'name')!
    if (!fits || (name !== undefined && own !== name)) return []
    const fixed = objectsAt(entry, 'ranges').flatMap((range) =>
      objectsAt(range, 'events').flatMap((event) => stringAt(event, 'fixed') ?? []),
    )
    return fixed.map((version) => ({ name: own, fixed: version }))
  })

/** The same samples on every run. */
function samples(): Sample[] {
  let seed = 20260821
  const random = (below: number) => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff
    return (seed >>> 8) % below
  }
  const all = [...records.values()]
  const chosen = new Map<string, Sample>()
  while (chosen.size < SAMPLES) {
    const advisory = all[random(all.length)]!
    const id = stringAt(advisory, 'id')!
    const release = RELEASES[random(RELEASES.length)]!
    const fixes = fixesIn(advisory, release)
    if (chosen.has(id) || fixes.length === 0) continue
    const { name } = fixes[random(fixes.length)]!
    // When an advisory names several builds of a package, the lowest one is the first with the fix.
    const fixed = fixesIn(advisory, release, name)
      .map((fix) => fix.fixed)
      .sort(rpm.compare)[0]!
    chosen.set(id, { advisory, id, release, name, fixed })
  }
  return [...chosen.values()]
}

describe('the AlmaLinux advisories', () => {
  test('are imported completely, and a second import changes nothing', async () => {
    const started = performance.now()
    const used = process.cpuUsage()
    let peak = process.memoryUsage().rss
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 20)
    const before = process.memoryUsage().rss
    for (const release of RELEASES) {
      const result = await importer().importZip(zipOf(release))
      expect(result).toMatchObject({ outcome: 'imported', skipped: [] })
    }
    clearInterval(watch)
    const cpu = process.cpuUsage(used)
    const seconds = `${((performance.now() - started) / 1000).toFixed(1)} s (${((cpu.user + cpu.system) / 1e6).toFixed(1)} s of CPU)`
    console.log(
      `${database.engine}: three files in ${seconds}, memory ${(before / 2 ** 20).toFixed(0)} -> at most ${(peak / 2 ** 20).toFixed(0)} MiB`,
    )
    expect((await advisories.feeds()).map((feed) => feed.advisories)).toEqual([660, 3237, 1783])
    const { generation, ecosystems } = await advisories.state()
    expect(generation).toBe(3)
    expect(Object.keys(ecosystems).sort()).toEqual(['AlmaLinux:10', 'AlmaLinux:8', 'AlmaLinux:9'])
    for (const release of RELEASES) expect((await importer().importZip(zipOf(release))).outcome).toBe('unchanged')
    expect((await advisories.state()).generation).toBe(generation)
  })

  test('match just below the fixed version and not at it, for a thousand of them', async () => {
    const wrong: string[] = []
    const started = performance.now()
    for (const { id, release, name, fixed } of samples()) {
      const at = (version: string) =>
        matcher.matchedAdvisories({ facts: facts(name, version), distribution: distribution(release) })
      const below = `${fixed}~`
      if (rpm.compare(below, fixed) >= 0) throw new Error(`${below} is not below ${fixed}`)
      if (!(await at(below)).includes(id)) wrong.push(`${id}: ${name} ${below} was not found`)
      if ((await at(fixed)).includes(id)) wrong.push(`${id}: ${name} ${fixed} was found`)
    }
    console.log(`${database.engine}: ${((performance.now() - started) / SAMPLES / 2).toFixed(2)} ms per package`)
    expect(wrong).toEqual([])
  })

  test('become one finding per CVE, with the severity in the summary', async () => {
    let seen = 0
    for (const { advisory, release, name, fixed } of samples().slice(0, 300)) {
      const result = await matcher.scan({ facts: facts(name, `${fixed}~`), distribution: distribution(release) })
      const ids = result.findings.map((finding) => finding.id)
      expect(new Set(ids).size).toBe(ids.length)
      for (const cve of stringsAt(advisory, 'related')) {
        const found = result.findings.find((finding) => finding.id === cve)
        expect(found, `${cve} of ${stringAt(advisory, 'id')}`).toBeDefined()
        expect(found!.fix_state).toBe('fixed')
        expect(found!.fix_versions).toContain(fixed)
        expect(found!.urls.length).toBeLessThanOrEqual(3)
        if (stringAt(advisory, 'id')!.startsWith('ALSA')) expect(found!.severity).not.toBe('Unknown')
        seen++
      }
      expect(result.coverage).toMatchObject({ engine: 'osv', distro_matched: `AlmaLinux:${release}`, files_seen: 1 })
    }
    expect(seen).toBeGreaterThan(500)
  })

  test('take milliseconds per package, also for the kernel and for names without advisories', async () => {
    const packages: [name: string, version: string][] = [
      ['bash', '4.4.20-1.el8'],
      ['kernel', '4.18.0-80.el8'],
      ['kernel', '4.18.0-553.120.1.el8_10'],
      ['openssl-libs', '1:1.1.1c-2.el8'],
      ['no-such-package', '1-1'],
    ]
    for (const [name, version] of packages) {
      const times: number[] = []
      let findings = 0
      for (let i = 0; i < 20; i++) {
        const started = performance.now()
        findings = (await matcher.scan({ facts: facts(name, version), distribution: distribution(8) })).findings.length
        times.push(performance.now() - started)
      }
      times.sort((a, b) => a - b)
      console.log(`${database.engine}: ${name} ${version}: ${findings} findings, median ${times[10]!.toFixed(1)} ms`)
      // On a machine that stalls some of them are slow.
      expect(times[0]).toBeLessThan(3_000)
    }
  })
})
