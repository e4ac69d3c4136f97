// Small databases for the real grype, made with its own packages (test/gate/grype-db), and the programs for that.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface GrypeTools {
  grype: string
  maker: string
}

export interface GrypeAdvisory {
  id: string
  /** the distribution, for example provider `rhel`, os `redhat`, release `rhel`, major 9 */
  provider: string
  os: string
  release: string
  major: string
  minor?: string
  type: 'rpm' | 'deb' | 'apk'
  package: string
  /** the vulnerable versions, for example `< 2.0-1` */
  versions: string
  fix?: string
  fix_state: 'fixed' | 'not-fixed' | 'wont-fix'
  severity?: 'critical' | 'high' | 'medium' | 'low' | 'negligible'
  vector?: string
  cves?: string[]
  urls?: string[]
  text?: string
}

/** Finds the programs, or builds them, which takes a quarter of an hour. */
export async function grypeTools(): Promise<GrypeTools> {
  const { stdout } = await run(join(import.meta.dirname, 'grype.sh'), { maxBuffer: 2 ** 26 })
  const [grype, maker] = stdout.trim().split('\n')
  return { grype: grype!, maker: maker! }
}

/** Writes `vulnerability.db` into the directory. @param built its build date, by default today */
export async function makeDatabase(
  tools: GrypeTools,
  directory: string,
  advisories: readonly GrypeAdvisory[],
  { built, exploited = [] }: { built?: Date; exploited?: string[] } = {},
): Promise<string> {
  const child = spawn(tools.maker, [directory], { stdio: ['pipe', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', (part: Buffer) => (said += part.toString()))
  child.stdin.end(JSON.stringify({ ...(built ? { built: built.toISOString() } : {}), advisories, exploited }))
  const [code] = (await once(child, 'close')) as [number]
  if (code !== 0) throw new Error(`no database was made: ${said}`)
  return join(directory, 'vulnerability.db')
}

/** Imports a database into a cache directory with `grype db import`. */
export async function importDatabase(tools: GrypeTools, database: string, cacheDirectory: string): Promise<void> {
  await run(tools.grype, ['db', 'import', database], {
    env: { ...process.env, GRYPE_DB_CACHE_DIR: cacheDirectory, GRYPE_CHECK_FOR_APP_UPDATE: 'false' },
  })
}
