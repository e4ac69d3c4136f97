// Self-tests of the scanners: each regularly scans packages that it must flag. A scanner that misses one has failed, and the
// packages that it passes count as unscanned.
import { rm, writeFile } from 'node:fs/promises'
import { factsToMatch, type Distribution, type FormatId } from '../../../domain/package.ts'
import type { Coverage } from '../../../domain/status.ts'
import { isoTimeOrNull, type Clock } from '../../../kernel/clock.ts'
import type { Antivirus, AntivirusResult, CveResult, CveScanner, ScanMember, ScanTarget } from '../scanner.ts'
import type { KnownVulnerable } from './known-vulnerable.ts'

export interface SelfTest {
  scanner: string
  /** a format for the malware scanner, a codename for a vulnerability scanner */
  scope: string
  failed: boolean
}

export interface Canaries {
  /** Tests every scanner. Never throws; a scanner that is down keeps its last result. */
  check(): Promise<SelfTest[]>
  /** of the last check */
  state(): { checkedAt: string | null; scopes: SelfTest[] }
  /** The same scanners; while their self-test is failed, a result without findings becomes `error`. */
  guardAntivirus(engine: Antivirus): Antivirus
  guardCve(scanner: CveScanner): CveScanner
}

export function createCanaries(deps: {
  antivirus: Antivirus | null
  scanners: readonly CveScanner[]
  distributions: readonly Distribution[]
  formats: readonly { id: FormatId; canary: { infectedPackage: string } }[]
  /** unpacks a package as for the gate */
  contents(format: FormatId, path: string, ...rest: Parameters<ScanTarget['contents']>): AsyncIterable<ScanMember>
  /** some packages that are vulnerable according to the advisories in force; none without advisories */
  knownVulnerable(distribution: Distribution): Promise<readonly KnownVulnerable[]>
  /** a new path for a package file that may be unpacked */
  newPath(): string
  clock: Clock
  onError(error: unknown): void
}): Canaries {
  const { antivirus, scanners, clock } = deps
  let checkedAt: Date | null = null
  let scopes: SelfTest[] = []
  /** signatures of the last check; undefined before the first */
  let signatures: string | null | undefined
  let running: Promise<SelfTest[]> | null = null

  const hasFailed = (name: string, scope: string) =>
    scopes.some((one) => one.scanner === name && one.scope === scope && one.failed)

  async function missesMalware(engine: Antivirus, format: (typeof deps.formats)[number]): Promise<boolean | null> {
    const path = deps.newPath()
    const bytes = Buffer.from(format.canary.infectedPackage, 'base64')
    try {
      await writeFile(path, bytes, { mode: 0o600 })
      const { result } = await engine.scan({
        path,
        filename: `canary.${format.id}`,
        sizeBytes: bytes.length,
        contents: (...how) => deps.contents(format.id, path, ...how),
      })
      return result === 'error' ? null : result !== 'infected'
    } catch {
      return null
    } finally {
      await rm(path, { force: true })
    }
  }

  async function missesVulnerabilities(scanner: CveScanner, distribution: Distribution): Promise<boolean | null> {
    try {
      const known = await deps.knownVulnerable(distribution)
      for (const one of known) {
        const { result, findings } = await scanner.scan({
          facts: factsToMatch({
            ...one,
            format: distribution.format,
            arch: '',
            sourcePackage: one.name,
            sourceVersion: one.version,
          }),
          distribution,
        })
        if (result !== 'scanned') return null
        // A finding for one package is enough: a single advisory may have conditions of its own.
        if (findings.length > 0) return false
      }
      return known.length > 0 ? true : null
    } catch (error) {
      deps.onError(error)
      return null
    }
  }

  async function testAll(): Promise<SelfTest[]> {
    const results: SelfTest[] = []
    const status = await antivirus?.status()
    // A test that could not be run keeps the last result.
    const note = (name: string, scope: string, failed: boolean | null) =>
      results.push({ scanner: name, scope, failed: failed ?? hasFailed(name, scope) })
    if (antivirus && status?.available) {
      await antivirus.measureLimits?.()
      for (const format of deps.formats) note('clamav', format.id, await missesMalware(antivirus, format))
      signatures = status.db_version
    }
    for (const scanner of scanners) {
      for (const distribution of deps.distributions) {
        const failed = await missesVulnerabilities(scanner, distribution)
        if (failed !== null) note(scanner.name, distribution.codename, failed)
      }
    }
    scopes = results
    checkedAt = clock.now()
    return results
  }

  const check = () => (running ??= testAll().finally(() => (running = null)))

  return {
    check,
    state: () => ({ checkedAt: isoTimeOrNull(checkedAt), scopes }),
    guardAntivirus(engine) {
      return {
        status: () => engine.status(),
        async scan(target) {
          // The daemon reloads its signatures by itself.
          const { db_version: version, available } = await engine.status()
          if (running || (available && version !== signatures)) await check()
          const result = await engine.scan(target)
          const format = deps.formats.find(({ id }) => target.filename.endsWith(`.${id}`))?.id
          const failed = format
            ? hasFailed('clamav', format)
            : scopes.some((one) => one.scanner === 'clamav' && one.failed)
          return failed && result.result !== 'infected' ? { ...result, ...noVerdict(result) } : result
        },
      }
    },
    guardCve(guarded) {
      return {
        name: guarded.name,
        async scan(input) {
          if (running) await running
          const result = await guarded.scan(input)
          return hasFailed(guarded.name, input.distribution.codename) &&
            result.result === 'scanned' &&
            result.findings.length === 0
            ? { ...result, ...noMatch(input.distribution, result.coverage) }
            : result
        },
      }
    },
  }
}

function noVerdict({ coverage }: AntivirusResult): Pick<AntivirusResult, 'result' | 'message' | 'coverage'> {
  return {
    result: 'error',
    message: 'the malware scanner does not find the EICAR test file: what it calls clean was not scanned',
    coverage,
  }
}

function noMatch(distribution: Distribution, coverage: Coverage): Pick<CveResult, 'result' | 'message' | 'coverage'> {
  return {
    result: 'error',
    message: `the vulnerability scanner does not find vulnerabilities known in ${distribution.fullName}: a result without findings means nothing`,
    coverage,
  }
}
