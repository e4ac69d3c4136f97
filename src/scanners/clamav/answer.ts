// What clamd's answers mean. Pure; whatever is not understood is a failure, never a pass.
import { isoTime } from '../../kernel/clock.ts'

export type Answer =
  | { kind: 'clean' }
  | { kind: 'found'; signature: string }
  /** not, or not wholly, looked at because of a limit of the engine */
  | { kind: 'limited'; reason: string }
  | { kind: 'failed'; reason: string }

/** Reads the answer to an INSTREAM, with or without the number that answers carry inside a session (clamd(8), COMMANDS). */
export function readAnswer(text: string): Answer {
  const answer = text.replace(/^\d+: /, '').trim()
  if (answer === 'stream: OK') return { kind: 'clean' }
  const found = /^[^:]+: (.+) FOUND$/.exec(answer)?.[1]
  if (found !== undefined) {
    // With ExtendedDetectionInfo the name is followed by digest and size.
    const signature = found.replace(/\([0-9a-f]{32}:\d+\)$/, '')
    // AlertExceedsMax turns "gave up at a limit" into a finding of this name.
    if (signature.startsWith('Heuristics.Limits.Exceeded')) {
      return { kind: 'limited', reason: `limit of the antivirus engine reached (${signature})` }
    }
    return { kind: 'found', signature }
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
