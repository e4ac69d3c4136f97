// What happens to a package that a scan could not judge: one rule for every scanner (decisions, section 6).
import { Problem } from '../domain/problem.ts'
import type { Settings } from '../domain/settings.ts'
import type { Outcome } from '../domain/status.ts'

/**
 * @param word why nothing could be said
 * @throws Problem when the setting is `refuse`; nothing is stored then
 */
export function unscannedOutcome(settings: Settings, word: 'limited' | 'no_data' | 'error', message: string): Outcome {
  switch (settings.validation.on_unscanned) {
    case 'hold':
      return 'hold'
    case 'allow':
      return 'warn'
    case 'refuse':
      throw word === 'error'
        ? new Problem('scanner_unavailable', message, {}, { retryAfterSeconds: 60 })
        : new Problem('scan_incomplete', message, {}, { retryAfterSeconds: 3600 })
  }
}

/** Whether a scan that was asked for could not judge the package. */
export function isUnscanned(pipeline: Readonly<Record<string, string>>): boolean {
  return ['antivirus', 'cve_scan'].some((key) => ['limited', 'no_data', 'error'].includes(pipeline[key] ?? ''))
}
