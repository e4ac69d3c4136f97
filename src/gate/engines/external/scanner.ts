// What the external scanners share: their interface, and the conversion of their results.
import { aliasesAmong } from '../../../domain/advisory-id.ts'
import { DAY_MS } from '../../../domain/durations.ts'
import { SEVERITIES, type Severity } from '../../../domain/finding.ts'
import type { Coverage } from '../../../domain/status.ts'
import { isoTime } from '../../../kernel/clock.ts'
import { isObject, parseJson, timeAt, type Json } from '../../../domain/json.ts'
import type { CveResult, CveScanner, EngineStatus, UpdateOutcome } from '../scanner.ts'
import { ProgramFailed } from './run.ts'

/** A vulnerability scanner that is a program with its own database. */
export interface ExternalScanner extends CveScanner {
  /** never throws */
  status(): Promise<EngineStatus>
  /** Loads a newer database if there is one. @throws Problem('already_running') */
  update(progress?: (line: string) => void): Promise<UpdateOutcome>
}

export type ScannerFinding = CveResult['findings'][number]

const MAX_URLS = 3
/** Results mention the age of a database from this many days on: both projects publish one each day. */
const OLD_DAYS = 3

export const NO_SCORES = { epss: null, epss_percent: null, epss_label: null } as const

/** The severity for a scanner's word, ignoring case; `Unknown` for any other word. */
export function severityOf(word: unknown): Severity {
  const text = typeof word === 'string' ? word.toLowerCase() : ''
  return SEVERITIES.find((severity) => severity.toLowerCase() === text) ?? 'Unknown'
}

/** Web addresses only, each once, at most three. */
export function urlsOf(candidates: readonly unknown[]): string[] {
  const urls = candidates.filter((one): one is string => typeof one === 'string' && /^https?:\/\/[^\s]+$/.test(one))
  return [...new Set(urls)].slice(0, MAX_URLS)
}

/** Merges findings of the same vulnerability: the worst severity, all fixes. Sorted by severity, then id. */
export function folded(findings: readonly ScannerFinding[]): ScannerFinding[] {
  const byId = new Map<string, ScannerFinding>()
  for (const finding of findings) {
    const other = byId.get(finding.id)
    byId.set(finding.id, other ? joined(other, finding) : finding)
  }
  return [...byId.values()].sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
}

const rank = (finding: ScannerFinding) => SEVERITIES.indexOf(finding.severity)
const FIX_STATES = ['fixed', 'not-fixed', 'wont-fix', 'unknown'] as const

function joined(a: ScannerFinding, b: ScannerFinding): ScannerFinding {
  const [worse, other] = rank(b) < rank(a) ? [b, a] : [a, b]
  const scores = [a.cvss, b.cvss].filter((score) => score !== null)
  return {
    ...worse,
    cvss: scores.length > 0 ? Math.max(...scores) : null,
    description: worse.description ?? other.description,
    fix_state: FIX_STATES.find((state) => state === a.fix_state || state === b.fix_state) ?? 'unknown',
    fix_versions: [...new Set([...worse.fix_versions, ...other.fix_versions])],
    urls: urlsOf([...worse.urls, ...other.urls]),
    in_kev: a.in_kev || b.in_kev,
    aliases: aliasesAmong(a.id, [...(a.aliases ?? []), ...(b.aliases ?? [])]),
  }
}

/** An old database is used, but never silently. @returns '' for one that is not old */
export function ageNote(databaseDate: string | null, now: Date): string {
  if (databaseDate === null) return ', in a database of unknown age'
  const days = Math.floor((now.getTime() - Date.parse(databaseDate)) / DAY_MS)
  return days >= OLD_DAYS ? `, in a database that is ${days} days old` : ''
}

export function coverageOf(
  engine: string,
  version: string | null,
  databaseDate: string | null,
  matched: string | null,
): Coverage {
  return {
    engine,
    engine_version: version,
    database_date: databaseDate,
    distro_matched: matched,
    files_seen: matched === null ? 0 : 1,
    files_skipped: [],
    bytes: 0,
  }
}

/** The result of a scan that failed: never a pass. */
export function failedScan(engine: string, error: unknown): CveResult {
  if (!(error instanceof ProgramFailed) && !(error instanceof UnreadableOutput)) throw error
  return { result: 'error', findings: [], message: error.message, coverage: coverageOf(engine, null, null, null) }
}

/** A program succeeded, but its output does not have the expected form. */
export class UnreadableOutput extends Error {
  override readonly name = 'UnreadableOutput'
}

/** @throws UnreadableOutput when it is no JSON object */
export function parseReport(name: string, text: string): Json {
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    throw new UnreadableOutput(`${name} wrote something that is no JSON`)
  }
  if (!isObject(value)) throw new UnreadableOutput(`${name} wrote something else than a report`)
  return value
}

export function numberAt(from: Json, key: string): number | null {
  const value = from[key]
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

/** A time in the format of answers; null if it is missing, and for the year 1, which Go writes for a missing time. */
export function dateAt(from: Json, key: string): string | null {
  const at = timeAt(from, key)
  return at === null || Date.parse(at) <= 0 ? null : isoTime(new Date(at))
}
