// trivy (https://github.com/aquasecurity/trivy) as a vulnerability scanner: one run for each package, its own database.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '../../domain/problem.ts'
import type { Clock } from '../../kernel/clock.ts'
import { ensureDirectory } from '../../kernel/files.ts'
import { objectAt, stringAt, type Json } from '../osv/json.ts'
import { withDocument } from '../external/package-document.ts'
import { createProgram, ProgramFailed } from '../external/run.ts'
import { ageNote, coverageOf, dateAt, failedScan, numberAt, parseReport, type ExternalScanner } from '../external/scanner.ts'
import { silentStatus } from '../scanner.ts'
import { trivyDistro, trivyDocument } from './document.ts'
import { readTrivyReport } from './report.ts'

export interface TrivyParts {
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
/** What it says on stderr when an empty answer means nothing. */
const NOT_JUDGED = [/not on the EOL list/i, /Unsupported os/i, /Skipped detection of the packages/i]

export function createTrivy(parts: TrivyParts): ExternalScanner {
  const { clock, scanTimeoutMs = SCAN_MS, againAfterMs = 1000 } = parts
  const cache = join(parts.cacheDirectory, 'trivy')
  const work = join(parts.cacheDirectory, 'work', 'trivy')
  const program = createProgram({
    name: 'trivy',
    path: parts.program,
    env: { ...parts.environment, HOME: work, TMPDIR: work, TRIVY_CACHE_DIR: cache, TRIVY_NO_PROGRESS: 'true', TRIVY_SKIP_VERSION_CHECK: 'true', TRIVY_DISABLE_TELEMETRY: 'true' },
    // Its own and empty: `trivy.yaml` or `.trivyignore` where it stands could tell it to leave findings out.
    directory: async () => {
      await ensureDirectory(work, 0o700)
      return work
    },
  })
  let updating = false

  /** Written by trivy beside its database. */
  async function metadata(): Promise<Json> {
    try {
      return parseReport('trivy', await readFile(join(cache, 'db', 'metadata.json'), 'utf8'))
    } catch {
      return {}
    }
  }
  const databaseDate = async () => dateAt(await metadata(), 'UpdatedAt')

  return {
    name: 'trivy',

    async scan({ facts, distribution }) {
      const { family, version } = trivyDistro(distribution)
      const distro = `${family}/${version}`
      const said: string[] = []
      try {
        const text = await withDocument(work, trivyDocument(facts, distribution), (path) =>
          program.run({
            args: ['sbom', '--format', 'json', '--list-all-pkgs', '--scanners', 'vuln', '--distro', distro, '--skip-db-update', '--skip-java-db-update', '--offline-scan', path],
            timeoutMs: scanTimeoutMs,
            againAfterMs,
            progress: (line) => void said.push(line),
          }),
        )
        const date = await databaseDate()
        const report = readTrivyReport(parseReport('trivy', text), facts)
        const judged = report.findings.length > 0 || (report.looked && !said.some((line) => NOT_JUDGED.some((pattern) => pattern.test(line))))
        const coverage = coverageOf('trivy', report.version, date, judged ? distro : null)
        if (!judged) return { word: 'no_data', findings: [], message: `trivy has no advisories for this package of ${distribution.fullName}`, coverage }
        return { word: 'scanned', findings: report.findings, message: `${report.findings.length} known vulnerabilities for ${distro}${ageNote(date, clock.now())}`, coverage }
      } catch (error) {
        return failedScan('trivy', error)
      }
    },

    async status() {
      try {
        const answer = parseReport('trivy', await program.run({ args: ['version', '--format', 'json'], timeoutMs: scanTimeoutMs }))
        const db = objectAt(answer, 'VulnerabilityDB')
        const date = dateAt(db, 'UpdatedAt')
        const schema = numberAt(db, 'Version')
        return {
          ...SILENT,
          available: date !== null,
          version: stringAt(answer, 'Version'),
          db_version: schema === null ? null : String(schema),
          db_date: date,
          db_updated_at: dateAt(db, 'DownloadedAt'),
          db_files: date === null ? [] : ['trivy.db'],
          error: date === null ? 'trivy has no database yet' : null,
        }
      } catch (error) {
        return { ...SILENT, error: (error as Error).message }
      }
    },

    async update(progress = () => {}) {
      if (updating) throw new Problem('already_running', 'the database of trivy is being updated already')
      updating = true
      try {
        const before = await databaseDate()
        await program.run({ args: ['image', '--download-db-only'], timeoutMs: UPDATE_MS, progress })
        const after = await databaseDate()
        return after === before ? { status: 'up_to_date', message: 'there is no newer database' } : { status: 'updated', message: `the database of trivy is of ${after}` }
      } catch (error) {
        if (error instanceof ProgramFailed) return { status: 'failed', message: error.message }
        throw error
      } finally {
        updating = false
      }
    },
  }
}

const SILENT = silentStatus('trivy')
