// The interfaces of malware and vulnerability scanners.
import type { Distribution, PackageFacts } from '../../domain/package.ts'
import type { Coverage, EngineLimitsShown } from '../../domain/status.ts'
import type { Finding } from '../../domain/finding.ts'
import { isoTimeOrNull } from '../../kernel/clock.ts'
import type { ExpandLimits } from './nested/limits.ts'

/** A file inside a package, decompressed (same shape as `formats/format.ts` Member). */
export interface ScanMember {
  name: string
  sizeBytes: number
  content: AsyncIterable<Uint8Array>
}

export interface ScanTarget {
  path: string
  filename: string
  sizeBytes: number
  /**
   * Starts a fresh pass over the decompressed members, each followed by the files inside it that the engine would not see.
   * @param skip is called for each file that was not examined, or not completely
   */
  contents(limits: ExpandLimits, skip: (name: string, reason: string) => void): AsyncIterable<ScanMember>
}

export interface AntivirusResult {
  result: 'clean' | 'infected' | 'limited' | 'error'
  /** name of what was found */
  signature: string | null
  /** the member it was found in; null for the file as a whole */
  member: string | null
  message: string
  coverage: Coverage
}

/** State of an engine and its database; keys as in `GET /security/antivirus/status` (docs/api-decisions.md, section 9). */
export interface EngineStatus {
  available: boolean
  engine: string | null
  version: string | null
  db_version: string | null
  db_date: string | null
  db_updated_at: string | null
  db_files: string[]
  daemon_running: boolean
  cooldown_until: string | null
  /** why it is not available; null when it is */
  error: string | null
  /** the sources of its data, if it has several */
  feeds?: FeedAge[]
}

export interface FeedAge {
  name: string
  /** when it was last read, or confirmed to be unchanged */
  read_at: string | null
  /** why the last attempt failed */
  error: string | null
}

export const ageOfFeed = (feed: { name: string; checkedAt: Date | null; error: string | null }): FeedAge => ({
  name: feed.name,
  read_at: isoTimeOrNull(feed.checkedAt),
  error: feed.error,
})

export interface AntivirusStatus extends EngineStatus {
  /** null before they were measured */
  limits?: EngineLimitsShown | null
  /** what the engine should be configured to report and does not */
  warning?: string | null
}

/** The status of an engine that gives no answer. */
export function silentStatus(engine: string | null, error: string | null = null): EngineStatus {
  return {
    available: false,
    engine,
    version: null,
    db_version: null,
    db_date: null,
    db_updated_at: null,
    db_files: [],
    daemon_running: false,
    cooldown_until: null,
    error,
  }
}

export interface UpdateOutcome {
  status: 'updated' | 'up_to_date' | 'failed' | 'cooldown'
  message: string
}

export interface Antivirus {
  /** never throws; asks the engine at most once in five seconds */
  status(): Promise<AntivirusStatus>
  /** @throws Problem('scanner_unavailable') when the engine is down or still loading; nothing was judged then */
  scan(target: ScanTarget): Promise<AntivirusResult>
  /** Finds out what the engine leaves out of archives, where it has such limits. Never throws. */
  measureLimits?(): Promise<void>
}

export interface CveResult {
  /** `no_data`: the engine has no advisories for that distribution, which is not the same as no findings */
  result: 'scanned' | 'no_data' | 'error'
  findings: Omit<Finding, 'action' | 'first_seen' | 'accepted_by_decision'>[]
  message: string
  coverage: Coverage
  /** of the advisories, where the engine reads ours */
  generation?: number | null
}

export interface CveScanner {
  readonly name: string
  scan(input: { facts: PackageFacts; distribution: Distribution }): Promise<CveResult>
}
