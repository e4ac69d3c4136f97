// Chooses the vulnerability scanners and their order: the first scans arrivals, the others cross-check.
import type { Env } from '../../../config/variables.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { Log } from '../../../kernel/log.ts'
import { createGrype } from '../grype/grype.ts'
import type { CveScanner } from '../scanner.ts'
import { createTrivy } from '../trivy/trivy.ts'
import { findProgram } from './find.ts'
import type { ExternalScanner } from './scanner.ts'

export type ScannerEnv = Pick<
  Env,
  | 'cveScanners'
  | 'grypeBin'
  | 'trivyBin'
  | 'grypeDbUrl'
  | 'trivyDbRepository'
  | 'grypeDbCacheDir'
  | 'searchPath'
  | 'httpProxy'
  | 'httpsProxy'
  | 'noProxy'
>

export interface Choice {
  /** never empty */
  scanners: readonly CveScanner[]
  /** those of them that are programs with a database of their own */
  external: readonly ExternalScanner[]
}

/**
 * The scanners of `SVC_CVE_SCANNERS` that are installed. A program that a variable names is assumed to be installed; while it
 * is missing, the packages that it should judge count as unscanned.
 */
export async function chooseScanners(deps: {
  env: ScannerEnv
  embedded: CveScanner
  clock: Clock
  log: Log
}): Promise<Choice> {
  const { env, embedded, clock, log } = deps
  const environment = present({
    PATH: env.searchPath,
    HTTP_PROXY: env.httpProxy,
    HTTPS_PROXY: env.httpsProxy,
    NO_PROXY: env.noProxy,
  })
  const external: ExternalScanner[] = []
  const scanners: CveScanner[] = []
  for (const name of new Set(env.cveScanners)) {
    if (name === 'osv') {
      scanners.push(embedded)
      continue
    }
    const given = { grype: env.grypeBin, trivy: env.trivyBin }[name]
    const path = (await findProgram(given ?? name, env.searchPath)) ?? given
    if (path === null) {
      // grype is in the default list, but most installations do not have it.
      if (name === 'trivy') log.warn('trivy is among SVC_CVE_SCANNERS, but there is no such program: it is left out')
      continue
    }
    if (path === given && !(await findProgram(path, env.searchPath)))
      log.error(`there is no program ${path}: what ${name} should judge counts as unscanned`)
    const common = { program: path, cacheDirectory: env.grypeDbCacheDir, environment, clock }
    const scanner =
      name === 'grype'
        ? createGrype({ ...common, updateUrl: env.grypeDbUrl })
        : createTrivy({
            ...common,
            environment: { ...environment, ...present({ TRIVY_DB_REPOSITORY: env.trivyDbRepository }) },
          })
    external.push(scanner)
    scanners.push(scanner)
  }
  if (scanners.length === 0) scanners.push(embedded)
  return { scanners, external }
}

function present(values: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== null))
}
