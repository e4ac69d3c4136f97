// Creates the engines behind the gate from the environment: malware, advisories, and the updates of both.
import { join } from 'node:path'
import type { Env } from '../../config/env.ts'
import type { Distribution, FormatId } from '../../domain/package.ts'
import { formats } from '../../formats/index.ts'
import type { Contents } from '../../gate/contents/contents.ts'
import type { Clock } from '../../kernel/clock.ts'
import { ensureDirectory } from '../../kernel/files.ts'
import { createHttpClient, type HttpLimits } from '../../kernel/http-client.ts'
import type { Log } from '../../kernel/log.ts'
import { createCanaries, type Canaries } from '../../gate/engines/canaries/canaries.ts'
import { createKnownVulnerable } from '../../gate/engines/canaries/known-vulnerable.ts'
import { createClamav } from '../../gate/engines/clamav/clamav.ts'
import { createFreshclam, type Freshclam } from '../../gate/engines/clamav/freshclam.ts'
import { noAntivirus } from '../../gate/engines/clamav/no-antivirus.ts'
import { createComponentMatcher, type ComponentMatcher } from '../../gate/engines/components/match.ts'
import { chooseScanners } from '../../gate/engines/external/choice.ts'
import { withExternal } from '../../gate/engines/external/data.ts'
import { createAdvisoryData, type AdvisoryData } from '../../gate/engines/osv/data.ts'
import { ecosystemOf } from '../../gate/engines/osv/ecosystems.ts'
import { createOsvImporter } from '../../gate/engines/osv/import.ts'
import { createOsvMatcher, type OsvMatcher } from '../../gate/engines/osv/matcher.ts'
import type { Antivirus, AntivirusStatus, CveScanner } from '../../gate/engines/scanner.ts'
import { createEnrichment, enriched, enrichingWhere, type Enrichment } from '../../gate/engines/enrich/enrichment.ts'
import { createAdvisories, type Advisories } from '../../store/advisories/advisories.ts'
import type { Db } from '../../store/db.ts'
import type { UpstreamDeps } from '../../upstream/source.ts'
import { createScores } from '../../store/advisories/scores.ts'

/** EPSS has 2 MB, KEV 1 MB. */
const LIST_LIMITS = { maxBytes: 256 << 20, timeoutMs: 5 * 60_000 }
/** A bucket's largest archive (Debian, 2026) has 130 MB. */
const OSV_LIMITS = { maxBytes: 2 << 30, timeoutMs: 30 * 60_000 }

/** Parts that test suites use in place of the deployment's own. */
export interface Overrides {
  cveScanner?: CveScanner
  /** in place of the scanners after the first */
  crossScanners?: readonly CveScanner[]
  antivirus?: Antivirus
  /** how upstreams are reached */
  upstreams?: Partial<UpstreamDeps>
}

export interface Engines {
  antivirus: Antivirus | null
  antivirusStatus(): Promise<AntivirusStatus>
  /** null if no antivirus engine is configured */
  freshclam: Freshclam | null
  /** judges arrivals */
  cveScanner: CveScanner
  /** for the packages of repositories */
  libraryScanner: CveScanner
  /** scan published packages */
  crossScanners: readonly CveScanner[]
  /** finds the packages that a change of its advisories affects */
  rematchScanner: CveScanner
  /** for components inside packages */
  componentMatcher: ComponentMatcher
  /** the embedded matcher, for packages that are not here */
  advisoryMatcher: Pick<OsvMatcher, 'scanAll' | 'hitsOf'>
  advisories: Advisories
  advisoryData: AdvisoryData
  enrichment: Enrichment
  canaries: Canaries
  /** whether advisories of that ecosystem apply to the distribution */
  covers(distribution: Distribution, ecosystem: string): boolean
  close(): Promise<void>
}

export async function createEngines(deps: {
  env: Env
  db: Db
  clock: Clock
  log: Log
  distributions: readonly Distribution[]
  overrides: Overrides
  /** a name for a file that is removed when this process has died */
  newPath(): string
  contents: Contents
  /** whether findings get scores and known-exploited flags */
  enriching(): boolean
  onError(error: unknown): void
}): Promise<Engines> {
  const { env, clock, log, distributions, overrides } = deps
  const address = env.clamavSocket
    ? { path: env.clamavSocket }
    : env.clamavHost
      ? { host: env.clamavHost, port: env.clamavPort }
      : null
  const workDirectory = join(env.grypeDbCacheDir, 'work')
  await ensureDirectory(workDirectory, 0o700)
  const clamav = address
    ? createClamav({
        address,
        maxStreamBytes: env.clamavMaxStreamMb * 1024 * 1024,
        databaseDirectory: env.clamavDbDir,
        clock,
        log,
      })
    : null

  const advisories = createAdvisories(deps)
  const formatOf = (id: FormatId) => formats.find((format) => format.id === id)!
  const compare = (format: FormatId, a: string, b: string) => formatOf(format).versions.compare(a, b)
  // The address comes from the operator, and most will have a mirror in their own network.
  const http = createHttpClient({
    allowPrivate: true,
    proxy: { http: env.httpProxy, https: env.httpsProxy, except: env.noProxy },
  })
  const download = (url: string, toPath: string, limits: HttpLimits) => http.download(url, toPath, limits)
  const importer = createOsvImporter({
    advisories,
    compare,
    clock,
    distros: distributions.map(({ scannerDistro }) => scannerDistro),
    workDirectory,
    download: (url, toPath, signal) => download(url, toPath, { ...OSV_LIMITS, ...(signal ? { signal } : {}) }),
  })
  const enrichment = createEnrichment({
    scores: createScores(deps),
    clock,
    epssUrl: env.epssUrl,
    kevUrl: env.kevUrl,
    workDirectory,
    download: (url, toPath) => download(url, toPath, LIST_LIMITS),
  })
  const osv = createOsvMatcher({ advisories, compare })
  const { scanners, external } = overrides.cveScanner
    ? { scanners: [overrides.cveScanner], external: [] }
    : await chooseScanners({ env, embedded: osv, clock, log })
  const enrich = enrichingWhere(deps.enriching, enrichment, deps.onError)
  const withScores = (scanner: CveScanner) => enriched(scanner, enrich)
  const canaries = createCanaries({
    antivirus: clamav,
    scanners,
    distributions,
    formats,
    knownVulnerable: createKnownVulnerable({
      state: advisories.state,
      namesOf: advisories.vulnerablePackages,
      lowestVersion: ({ format }) => formatOf(format).canary.lowestVersion,
    }),
    contents: deps.contents,
    newPath: deps.newPath,
    clock,
    onError: deps.onError,
  })
  const guarded = (scanner: CveScanner) =>
    overrides.cveScanner ? withScores(scanner) : canaries.guardCve(withScores(scanner))
  const antivirus = overrides.antivirus ?? (clamav ? canaries.guardAntivirus(clamav) : null)
  return {
    antivirus,
    antivirusStatus: () => (antivirus ?? noAntivirus()).status(),
    freshclam: clamav ? createFreshclam({ program: env.freshclamBin, clock }) : null,
    cveScanner: guarded(scanners[0]!),
    libraryScanner: withScores(overrides.cveScanner ?? osv),
    crossScanners: (overrides.crossScanners ?? scanners.slice(1)).map(guarded),
    rematchScanner: guarded(overrides.cveScanner ?? osv),
    componentMatcher: createComponentMatcher({ matcher: osv, state: advisories.state, enrich }),
    canaries,
    advisoryMatcher: osv,
    advisories,
    advisoryData: withExternal(
      createAdvisoryData({
        advisories,
        importer,
        url: env.osvUrl,
        directory: env.osvDir,
        distributions,
        clock,
        version: env.appVersion,
      }),
      external,
      scanners[0]!.name,
      clock,
    ),
    enrichment,
    covers: (distribution, ecosystem) => ecosystemOf(distribution.scannerDistro)?.covers(ecosystem) ?? false,
    close: () => http.close(),
  }
}
