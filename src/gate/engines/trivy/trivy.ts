// trivy (https://github.com/aquasecurity/trivy) as a vulnerability scanner: one run for each package.
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { vulnerabilities } from '../../../domain/finding.ts'
import type { Distribution, PackageFacts } from '../../../domain/package.ts'
import { Problem } from '../../../domain/problem.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { ensureDirectory } from '../../../kernel/files.ts'
import { stringAt } from '../../../domain/json.ts'
import { withDocument } from '../external/package-document.ts'
import { createProgram, ProgramFailed } from '../external/run.ts'
import {
  ageNote,
  coverageOf,
  dateAt,
  failedScan,
  numberAt,
  parseReport,
  UnreadableOutput,
  type ExternalScanner,
} from '../external/scanner.ts'
import { silentStatus } from '../scanner.ts'
import { createTrivyDatabase } from './database.ts'
import { isOfStream, trivyDistro, trivyDocument } from './document.ts'
import { readTrivyReport, type TrivyReport } from './report.ts'

export interface TrivyDeps {
  /** path of the program, or its name */
  program: string
  /** of its database; made when absent */
  cacheDirectory: string
  /** proxies for its own downloads, and PATH */
  environment: Record<string, string>
  clock: Clock
  scanTimeoutMs?: number
  /** between a scan that failed and its only repetition: an update replaces the database in two steps */
  againAfterMs?: number
}

const SCAN_MS = 60_000
const UPDATE_MS = 15 * 60_000
/** Log lines of trivy for packages that it leaves out, most of them only with `--debug`: an empty report means nothing then. */
const LEFT_OUT = [
  /Skipped detection of the packages/,
  /Skipping (?:the package with|third-party packages)/,
  /Failed to parse (?:the .*version|constraints)/,
  /Installed package version error/,
]

export function createTrivy(deps: TrivyDeps): ExternalScanner {
  const { clock, scanTimeoutMs = SCAN_MS, againAfterMs = 1000 } = deps
  const work = join(deps.cacheDirectory, 'work', 'trivy')
  const programIn = (directory: string, cacheDirectory: string) =>
    createProgram({
      name: 'trivy',
      path: deps.program,
      env: {
        ...deps.environment,
        HOME: directory,
        TMPDIR: directory,
        TRIVY_CACHE_DIR: cacheDirectory,
        TRIVY_NO_PROGRESS: 'true',
        TRIVY_SKIP_VERSION_CHECK: 'true',
        TRIVY_DISABLE_TELEMETRY: 'true',
        // When trivy crashes, the last line then gives the reason, not the location.
        GOTRACEBACK: 'none',
      },
      // An empty directory: a `trivy.yaml` or `.trivyignore` could make trivy leave findings out.
      directory: async () => {
        await ensureDirectory(directory, 0o700)
        return directory
      },
      why,
    })
  const database = createTrivyDatabase(deps.cacheDirectory, clock)
  const program = programIn(work, database.cache)
  let updating = false
  /** the last scan failed: the database may be why */
  let suspect = false
  let version: string | null = null

  async function askVersion(): Promise<string | null> {
    version = stringAt(
      parseReport('trivy', await program.run({ args: ['version', '--format', 'json'], timeoutMs: scanTimeoutMs })),
      'Version',
    )
    return version
  }

  /** @returns trivy's report, and whether an empty list of findings means that there are no vulnerabilities */
  async function look(
    facts: PackageFacts,
    distribution: Distribution,
  ): Promise<{ report: TrivyReport; judged: boolean }> {
    const distro = trivyDistro(distribution)
    let leftOut = isOfStream(facts, distro)
    const text = await withDocument(work, trivyDocument(facts, distribution), (path) =>
      program.run({
        args: [
          'sbom',
          '--debug',
          '--format',
          'json',
          '--list-all-pkgs',
          '--scanners',
          'vuln',
          '--skip-db-update',
          '--skip-java-db-update',
          '--offline-scan',
          path,
        ],
        timeoutMs: scanTimeoutMs,
        againAfterMs,
        progress: (line) => void (leftOut ||= LEFT_OUT.some((pattern) => pattern.test(line))),
      }),
    )
    const report = readTrivyReport(parseReport('trivy', text), facts, distro)
    if (report.findings.length > 0) return { report, judged: true }
    if (!report.matched || leftOut || distro.bucket === null) return { report, judged: false }
    // The report is the same for a release without data and for a package without vulnerabilities.
    const names = await database.buckets().catch(async () => {
      // An update may be replacing it.
      await setTimeout(againAfterMs)
      return database.buckets()
    })
    return { report, judged: names.has(distro.bucket) }
  }

  return {
    name: 'trivy',

    async scan({ facts, distribution }) {
      const { family, version: release } = trivyDistro(distribution)
      const distro = `${family}/${release}`
      try {
        const { report, judged } = await look(facts, distribution)
        suspect = false
        const date = dateAt(await database.metadata(), 'UpdatedAt')
        // Releases before 0.69 do not give their version in reports.
        const coverage = coverageOf(
          'trivy',
          report.version ?? version ?? (await askVersion()),
          date,
          judged ? distro : null,
        )
        if (!judged)
          return {
            result: 'no_data',
            findings: [],
            message: `trivy has no advisories for this package of ${distribution.fullName}`,
            coverage,
          }
        const ended = report.endOfLife ? ', of a release that gets no more advisories' : ''
        return {
          result: 'scanned',
          findings: report.findings,
          message: `${vulnerabilities(report.findings.length)} for ${distro}${ended}${ageNote(date, clock.now())}`,
          coverage,
        }
      } catch (error) {
        suspect = true
        return failedScan('trivy', error)
      }
    },

    async status() {
      try {
        const told = { ...SILENT, version: await askVersion() }
        const about = await database.metadata()
        const date = dateAt(about, 'UpdatedAt')
        if (date === null) return { ...told, error: 'trivy has no database yet' }
        await database.buckets()
        const schema = numberAt(about, 'Version')
        return {
          ...told,
          available: true,
          db_version: schema === null ? null : String(schema),
          db_date: date,
          db_updated_at: dateAt(about, 'DownloadedAt') ?? date,
          db_files: ['trivy.db'],
        }
      } catch (error) {
        return { ...SILENT, version, error: (error as Error).message }
      }
    },

    async update(progress = () => {}) {
      if (updating) throw new Problem('already_running', 'the database of trivy is being updated already')
      updating = true
      try {
        const before = dateAt(await database.metadata(), 'UpdatedAt')
        if (!suspect && (await database.isFresh()))
          return { status: 'up_to_date', message: 'there is no newer database' }
        await database.replace(async (cache) => {
          await programIn(cache, cache).run({ args: ['image', '--download-db-only'], timeoutMs: UPDATE_MS, progress })
        })
        suspect = false
        const after = dateAt(await database.metadata(), 'UpdatedAt')
        return after === before
          ? { status: 'up_to_date', message: 'there is no newer database' }
          : { status: 'updated', message: `the database of trivy is of ${after}` }
      } catch (error) {
        if (error instanceof ProgramFailed || error instanceof UnreadableOutput)
          return { status: 'failed', message: error.message }
        throw error
      } finally {
        updating = false
      }
    },
  }
}

const SILENT = silentStatus('trivy')

/** With `--debug` its output ends with the chain of errors, the cause last, each followed by its source location. */
function why(said: string): string | undefined {
  const cause = said
    .split('\n')
    .filter((line) => line.startsWith('  - '))
    .at(-1)
  return cause?.replace(/^ {2}- (?:Oops: )?/, '').replace(/:$/, '')
}
