// Proves that the scanners see: what they must find is shown to them again and again. One that misses it is blind, and
// its word counts as no scan at all.
import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { factsToMatch, type Distribution, type FormatId } from '../../domain/package.ts'
import type { Coverage } from '../../domain/status.ts'
import { isoTimeOrNull, type Clock } from '../../kernel/clock.ts'
import { ensureDirectory } from '../../kernel/files.ts'
import type { Antivirus, AntivirusResult, CveResult, CveScanner, ScanMember } from '../scanner.ts'
import { CANARY_PACKAGES } from './packages.ts'

/** What must be found, and is not. */
export interface Blindness {
  scanner: string
  /** a format for the malware scanner, a codename for a vulnerability scanner */
  scope: string
  blind: boolean
}

export interface Canaries {
  /** Shows every scanner what it must find. Never throws; a scanner that is down is not blind. */
  check(): Promise<Blindness[]>
  /** of the last check */
  state(): { checkedAt: string | null; scopes: Blindness[] }
  /** The same scanners; what they say while they are blind is no verdict. */
  guardAntivirus(engine: Antivirus): Antivirus
  guardCve(scanner: CveScanner): CveScanner
}

/** A name that advisories in force say every old version of has a hole. */
export interface KnownHole {
  name: string
  version: string
}

export function createCanaries(parts: {
  antivirus: Antivirus | null
  scanners: readonly CveScanner[]
  distributions: readonly Distribution[]
  formats: readonly { id: FormatId; members(path: string): AsyncIterable<ScanMember> }[]
  /** a few for the distribution; none where there are no advisories */
  knownHoles(distribution: Distribution): Promise<KnownHole[]>
  workDirectory: string
  clock: Clock
  onError(error: unknown): void
}): Canaries {
  const { antivirus, scanners, clock } = parts
  let checkedAt: Date | null = null
  let scopes: Blindness[] = []
  /** signatures of the last check; undefined before the first */
  let signatures: string | null | undefined
  let running: Promise<Blindness[]> | null = null

  const isBlind = (name: string, scope: string) =>
    scopes.some((one) => one.scanner === name && one.scope === scope && one.blind)

  async function missesMalware(engine: Antivirus, format: (typeof parts.formats)[number]): Promise<boolean | null> {
    const path = join(parts.workDirectory, `canary-${randomBytes(6).toString('hex')}`)
    const bytes = Buffer.from(CANARY_PACKAGES[format.id], 'base64')
    try {
      await ensureDirectory(parts.workDirectory, 0o700)
      await writeFile(path, bytes, { mode: 0o600 })
      const { word } = await engine.scan({
        path,
        filename: `canary.${format.id}`,
        sizeBytes: bytes.length,
        members: () => format.members(path),
      })
      return word === 'error' ? null : word !== 'infected'
    } catch {
      return null
    } finally {
      await rm(path, { force: true })
    }
  }

  async function missesHoles(scanner: CveScanner, distribution: Distribution): Promise<boolean | null> {
    try {
      const holes = await parts.knownHoles(distribution)
      for (const hole of holes) {
        const { word, findings } = await scanner.scan({
          facts: factsToMatch({
            ...hole,
            format: distribution.format,
            arch: '',
            sourcePackage: hole.name,
            sourceVersion: hole.version,
          }),
          distribution,
        })
        if (word !== 'scanned') return null
        // One that is found is enough: a single advisory may be about something special.
        if (findings.length > 0) return false
      }
      return holes.length > 0 ? true : null
    } catch (error) {
      parts.onError(error)
      return null
    }
  }

  async function look(): Promise<Blindness[]> {
    const seen: Blindness[] = []
    const status = await antivirus?.status()
    // What could not be asked keeps the answer of the last time.
    const note = (name: string, scope: string, blind: boolean | null) =>
      seen.push({ scanner: name, scope, blind: blind ?? isBlind(name, scope) })
    if (antivirus && status?.available) {
      await antivirus.measureLimits?.()
      for (const format of parts.formats) note('clamav', format.id, await missesMalware(antivirus, format))
      signatures = status.db_version
    }
    for (const scanner of scanners) {
      for (const distribution of parts.distributions) {
        const blind = await missesHoles(scanner, distribution)
        if (blind !== null) note(scanner.name, distribution.codename, blind)
      }
    }
    scopes = seen
    checkedAt = clock.now()
    return seen
  }

  const check = () => (running ??= look().finally(() => (running = null)))

  return {
    check,
    state: () => ({ checkedAt: isoTimeOrNull(checkedAt), scopes }),
    guardAntivirus(engine) {
      return {
        status: () => engine.status(),
        async scan(target) {
          // Signatures that are reloaded behind our back are new signatures too.
          const { db_version: version, available } = await engine.status()
          if (running || (available && version !== signatures)) await check()
          const result = await engine.scan(target)
          const format = parts.formats.find(({ id }) => target.filename.endsWith(`.${id}`))?.id
          const blind = format ? isBlind('clamav', format) : scopes.some((one) => one.scanner === 'clamav' && one.blind)
          return blind && result.word !== 'infected' ? { ...result, ...noVerdict(result) } : result
        },
      }
    },
    guardCve(guarded) {
      return {
        name: guarded.name,
        async scan(input) {
          if (running) await running
          const result = await guarded.scan(input)
          return isBlind(guarded.name, input.distribution.codename) &&
            result.word === 'scanned' &&
            result.findings.length === 0
            ? { ...result, ...noMatch(input.distribution, result.coverage) }
            : result
        },
      }
    },
  }
}

function noVerdict({ coverage }: AntivirusResult): Pick<AntivirusResult, 'word' | 'message' | 'coverage'> {
  return {
    word: 'error',
    message: 'the malware scanner does not find the EICAR test file: what it calls clean was not scanned',
    coverage,
  }
}

function noMatch(distribution: Distribution, coverage: Coverage): Pick<CveResult, 'word' | 'message' | 'coverage'> {
  return {
    word: 'error',
    message: `the vulnerability scanner does not find what is known about ${distribution.fullName}: no findings mean nothing`,
    coverage,
  }
}
