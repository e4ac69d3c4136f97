// grype (https://github.com/anchore/grype) as a vulnerability scanner: one run for each package, no database of our own.
import { join } from 'node:path'
import { vulnerabilities } from '../../../domain/finding.ts'
import { Problem } from '../../../domain/problem.ts'
import type { Distribution } from '../../../domain/package.ts'
import { isoTime, type Clock } from '../../../kernel/clock.ts'
import { ensureDirectory } from '../../../kernel/files.ts'
import { stringAt } from '../../../domain/json.ts'
import { withDocument } from '../external/package-document.ts'
import { createProgram, ProgramFailed } from '../external/run.ts'
import { ageNote, coverageOf, dateAt, failedScan, parseReport, type ExternalScanner } from '../external/scanner.ts'
import { silentStatus } from '../scanner.ts'
import { grypeDistro, grypeDocument } from './document.ts'
import { readGrypeReport } from './report.ts'

export interface GrypeDeps {
  /** path of the program, or its name */
  program: string
  /** of its database; made when absent */
  cacheDirectory: string
  /** proxies for its own downloads, and PATH */
  environment: Record<string, string>
  /** where it loads its database from; null for grype's default address */
  updateUrl: string | null
  clock: Clock
  scanTimeoutMs?: number
  /** between a scan that failed and its only repetition: an update replaces the database in two steps */
  againAfterMs?: number
}

const SCAN_MS = 60_000
const UPDATE_MS = 15 * 60_000
/** No package has this name: a query for it shows whether grype knows the distribution. */
const NOBODY = 'gatehouse-asks-whether-this-distribution-is-known'

export function createGrype(deps: GrypeDeps): ExternalScanner {
  const { clock, scanTimeoutMs = SCAN_MS, againAfterMs = 1000 } = deps
  const work = workDirectory(deps)
  const program = createProgram({
    name: 'grype',
    path: deps.program,
    env: environmentOf(deps),
    // An empty directory: a settings file of the user could make grype leave findings out.
    directory: async () => {
      await ensureDirectory(work, 0o700)
      return work
    },
  })
  /** by distribution, for the database of that date */
  const known = new Map<string, { databaseDate: string | null; known: boolean }>()
  let updating = false

  async function isKnown(distro: string, databaseDate: string | null): Promise<boolean> {
    const before = known.get(distro)
    if (before && before.databaseDate === databaseDate) return before.known
    const answer = await asks(distro)
    known.set(distro, { databaseDate, known: answer })
    return answer
  }

  async function asks(distro: string): Promise<boolean> {
    try {
      await program.run({
        args: ['db', 'search', '--distro', distro, '--pkg', NOBODY, '-o', 'json'],
        timeoutMs: scanTimeoutMs,
      })
      return true
    } catch (error) {
      if (error instanceof ProgramFailed && /OS not present/i.test(error.said)) return false
      throw error
    }
  }

  return {
    name: 'grype',

    async scan({ facts, distribution }) {
      const distro = grypeDistro(distribution)
      try {
        // Passed as a file: as stdin grype accepts a pipe or a file, but Node gives it a socket.
        const text = await withDocument(work, grypeDocument(facts, distribution), (path) =>
          program.run({
            args: [`sbom:${path}`, '--distro', distro, '-o', 'json'],
            timeoutMs: scanTimeoutMs,
            againAfterMs,
          }),
        )
        const { version, databaseDate, findings } = readGrypeReport(parseReport('grype', text), facts)
        // The report is the same for an unknown distribution and for a package without vulnerabilities.
        const matched = findings.length > 0 || (await isKnown(distro, databaseDate))
        const coverage = coverageOf('grype', version, databaseDate, matched ? distro : null)
        if (!matched) return { result: 'no_data', findings, message: noData(distribution), coverage }
        return {
          result: 'scanned',
          findings,
          message: `${vulnerabilities(findings.length)} for ${distro}${ageNote(databaseDate, clock.now())}`,
          coverage,
        }
      } catch (error) {
        return failedScan('grype', error)
      }
    },

    async status() {
      const version = await program.run({ args: ['version', '-o', 'json'], timeoutMs: scanTimeoutMs }).then(
        (text) => stringAt(parseReport('grype', text), 'version'),
        () => null,
      )
      try {
        const report = parseReport(
          'grype',
          await program.run({ args: ['db', 'status', '-o', 'json'], timeoutMs: scanTimeoutMs }),
        )
        const built = dateAt(report, 'built')
        return {
          ...SILENT,
          available: built !== null,
          version,
          db_version: stringAt(report, 'schemaVersion'),
          db_date: built,
          db_updated_at: built,
          db_files: ['vulnerability.db'],
        }
      } catch (error) {
        return { ...SILENT, version, error: (error as Error).message }
      }
    },

    async update(progress = () => {}) {
      if (updating) throw new Problem('already_running', 'the database of grype is being updated already')
      updating = true
      try {
        const before = await dateOf(program)
        const said = await program.run({ args: ['db', 'update', '-v'], timeoutMs: UPDATE_MS, progress })
        const after = await dateOf(program)
        if (after !== before)
          return { status: 'updated', message: `the database of grype is of ${after ?? isoTime(clock.now())}` }
        return { status: 'up_to_date', message: said.trim().split('\n').at(-1) || 'there is no newer database' }
      } catch (error) {
        if (error instanceof ProgramFailed) return { status: 'failed', message: error.message }
        throw error
      } finally {
        updating = false
      }
    },
  }
}

const SILENT = silentStatus('grype')

async function dateOf(program: ReturnType<typeof createProgram>): Promise<string | null> {
  try {
    return dateAt(
      parseReport('grype', await program.run({ args: ['db', 'status', '-o', 'json'], timeoutMs: SCAN_MS })),
      'built',
    )
  } catch {
    // There is none yet.
    return null
  }
}

/** No network access during a scan, and no refusal of an old database: its age is reported instead. */
function environmentOf(deps: GrypeDeps): Record<string, string> {
  return {
    ...deps.environment,
    HOME: workDirectory(deps),
    GRYPE_DB_CACHE_DIR: deps.cacheDirectory,
    ...(deps.updateUrl ? { GRYPE_DB_UPDATE_URL: deps.updateUrl } : {}),
    GRYPE_DB_AUTO_UPDATE: 'false',
    GRYPE_DB_VALIDATE_AGE: 'false',
    GRYPE_DB_MAX_UPDATE_CHECK_FREQUENCY: '0',
    GRYPE_CHECK_FOR_APP_UPDATE: 'false',
    GRYPE_EXTERNAL_SOURCES_ENABLE: 'false',
    TMPDIR: workDirectory(deps),
    NO_COLOR: '1',
  }
}

const workDirectory = (deps: GrypeDeps) => join(deps.cacheDirectory, 'work', 'grype')
const noData = (distribution: Distribution) => `the database of grype has no advisories for ${distribution.fullName}`
