// What clamd's answers mean. Pure; an answer that is not understood is a failure, never a pass.
import { isoTime } from '../../../kernel/clock.ts'

export type Answer =
  | { kind: 'clean' }
  | { kind: 'found'; signature: string }
  /** the engine could not scan its content, or not all of it */
  | { kind: 'limited'; reason: string }
  | { kind: 'failed'; reason: string }

/**
 * Alerts that mean "could not look inside" and not "is malware", by the beginnings of their names. All the others are
 * findings: phishing, structured data, macros, exploits, overlapping zip entries, intersecting partitions.
 * Names: ClamAV 1.5, `git grep -ho 'Heuristics\.[A-Za-z0-9_.-]*' libclamav`.
 */
const NOT_LOOKED_INTO: readonly [prefix: string, reason: string][] = [
  // AlertExceedsMax
  ['Heuristics.Limits.Exceeded', 'limit of the antivirus engine reached'],
  // Before 0.104 xz had a limit of its own.
  ['Heuristics.XZ.DicSizeLimit', 'limit of the antivirus engine reached'],
  // AlertEncrypted, AlertEncryptedArchive, AlertEncryptedDoc
  ['Heuristics.Encrypted', 'encrypted'],
  // AlertBrokenExecutables, AlertBrokenMedia
  ['Heuristics.Broken', 'damaged'],
]

/** Reads the answer to an INSTREAM, with or without the number that answers carry inside a session (clamd(8), COMMANDS). */
export function readAnswer(text: string): Answer {
  const answer = text.replace(/^\d+: /, '').trim()
  if (answer === 'stream: OK') return { kind: 'clean' }
  const found = /^[^:]+: (.+) FOUND$/.exec(answer)?.[1]
  if (found !== undefined) {
    // With ExtendedDetectionInfo the name is followed by digest and size.
    const signature = found.replace(/\([0-9a-f]{32}:\d+\)$/, '')
    const name = signature.replace(/\.UNOFFICIAL$/, '')
    const unseen = NOT_LOOKED_INTO.find(([prefix]) => name === prefix || name.startsWith(`${prefix}.`))
    return unseen ? { kind: 'limited', reason: `${unseen[1]} (${signature})` } : { kind: 'found', signature }
  }
  if (answer.includes('size limit exceeded')) {
    return { kind: 'limited', reason: 'larger than the antivirus engine accepts (StreamMaxLength)' }
  }
  const reason = answer
    .replace(/^stream: /, '')
    .replace(/\.? ERROR$/, '')
    .slice(0, 200)
  return { kind: 'failed', reason: reason || 'empty answer' }
}

/** The number in front of an answer inside a session; null without one. */
export function answerNumber(text: string): number | null {
  const number = /^(\d+): /.exec(text)?.[1]
  return number === undefined ? null : Number(number)
}

export interface EngineVersion {
  version: string
  dbVersion: string | null
  /** ISO 8601 */
  dbDate: string | null
}

/** Reads `ClamAV 1.4.6/27000/Tue Nov 18 09:26:00 2025`; without an official database only the first part is there. */
export function readVersion(text: string): EngineVersion | null {
  const match = /^ClamAV ([^/\s]+)(?:\/(\d+))?(?:\/(.+))?$/.exec(text.trim())
  if (!match?.[1]) return null
  // clamd prints local time without naming the zone; daemons run in UTC, and a few hours do not matter for an age.
  const date = match[3] === undefined ? NaN : Date.parse(`${match[3]} UTC`)
  return {
    version: match[1],
    dbVersion: match[2] ?? null,
    dbDate: Number.isNaN(date) ? null : isoTime(new Date(date)),
  }
}
