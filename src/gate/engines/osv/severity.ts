// How severe an OSV record says a vulnerability is. Pure; knows words and vectors, not packages.
import type { Severity } from '../../../domain/finding.ts'
import { cvssRating, cvssScore, type CvssScore } from './cvss.ts'
import { objectAt, objectsAt, stringAt, type Json } from '../../../domain/json.ts'

export interface Rating {
  severity: Severity
  /** base score of the newest CVSS version given */
  cvss: number | null
}

const WORDS = new Map<string, Severity>([
  ['critical', 'Critical'],
  ['important', 'High'],
  ['high', 'High'],
  ['moderate', 'Medium'],
  ['medium', 'Medium'],
  ['low', 'Low'],
  ['minor', 'Low'],
  ['negligible', 'Negligible'],
  ['unimportant', 'Negligible'],
])

/** What a severity word of any vendor means; null for words that rate nothing (`untriaged`, `not yet assigned`). */
export function severityOfWord(word: string): Severity | null {
  // Debian writes `medium**` where the urgency was not set by its security team.
  return WORDS.get(word.trim().toLowerCase().replace(/\*+$/, '')) ?? null
}

const NEWEST_FIRST = ['4.0', '3.1', '3.0', '2.0']

/**
 * The rating of a record, or of one of its `affected` entries. In this order: the distribution's own priority (Ubuntu,
 * Debian), because only the distribution knows how the package is built; CVSS, newest version first; words in
 * `ecosystem_specific` and `database_specific`; malicious packages; a word in the summary.
 */
export function rate(record: Json, affected: Json = {}): Rating {
  const score =
    newestScore(objectsAt(affected, 'severity')) ??
    newestScore(objectsAt(record, 'severity')) ??
    quotedScore(record, affected)
  const severity =
    ownPriority(record, affected) ??
    (score ? cvssRating(score) : null) ??
    specificWord(record, affected) ??
    (stringAt(record, 'id')?.startsWith('MAL-') ? 'Critical' : null) ??
    summaryWord(stringAt(record, 'summary') ?? '')
  return { severity: severity ?? 'Unknown', cvss: score?.score ?? null }
}

function newestScore(entries: readonly Json[]): CvssScore | null {
  const scores = entries.flatMap((entry) => cvssScore(stringAt(entry, 'score') ?? '') ?? [])
  return scores.sort((a, b) => NEWEST_FIRST.indexOf(a.version) - NEWEST_FIRST.indexOf(b.version))[0] ?? null
}

/** Databases without a `severity` field put the vector among their own keys. */
function quotedScore(record: Json, affected: Json): CvssScore | null {
  for (const owner of [affected, record]) {
    for (const key of ['database_specific', 'ecosystem_specific']) {
      const specific = objectAt(owner, key)
      const vector = stringAt(specific, 'cvss') ?? stringAt(objectAt(specific, 'cvss'), 'vectorString')
      const score = vector === null ? null : cvssScore(vector)
      if (score) return score
    }
  }
  return null
}

function ownPriority(record: Json, affected: Json): Severity | null {
  for (const entry of [...objectsAt(affected, 'severity'), ...objectsAt(record, 'severity')]) {
    if (stringAt(entry, 'type') === 'Ubuntu') return severityOfWord(stringAt(entry, 'score') ?? '')
  }
  return severityOfWord(stringAt(objectAt(affected, 'ecosystem_specific'), 'urgency') ?? '')
}

function specificWord(record: Json, affected: Json): Severity | null {
  for (const owner of [affected, record]) {
    for (const key of ['ecosystem_specific', 'database_specific']) {
      const severity = severityOfWord(stringAt(objectAt(owner, key), 'severity') ?? '')
      if (severity) return severity
    }
  }
  return null
}

/** `Important: kernel security update`, `… security update (Important)`. */
function summaryWord(summary: string): Severity | null {
  const word = /^([A-Za-z]+):\s/.exec(summary)?.[1] ?? /\(([A-Za-z]+)\)\s*$/.exec(summary)?.[1]
  return word === undefined ? null : severityOfWord(word)
}

const NO_FIX = new Set([
  'wont-fix',
  'wontfix',
  'will not fix',
  "won't fix",
  'end-of-life',
  'ignored',
  'out of support scope',
])

/** Whether the distribution announced that it will not fix this package. */
export function saysWontFix(affected: Json): boolean {
  return ['ecosystem_specific', 'database_specific'].some((key) => {
    const specific = objectAt(affected, key)
    return ['fix_state', 'state', 'status', 'urgency'].some((name) =>
      NO_FIX.has((stringAt(specific, name) ?? '').toLowerCase()),
    )
  })
}
