// What happens to a package that a scan could not judge: one rule for every scanner (docs/api-decisions.md, section 6).
import { Problem } from '../domain/problem.ts'
import type { Settings } from '../domain/settings.ts'
import type { Outcome } from '../domain/status.ts'

/** Results of a scan that ran, or should have run, without judging the package. */
const UNSCANNED = ['limited', 'no_data', 'error'] as const
export type UnscannedResult = (typeof UNSCANNED)[number]

/** @throws Problem('scanner_unavailable' or 'scan_incomplete') when `on_unscanned` is `refuse`: nothing is stored */
export function unscannedOutcome(settings: Settings, result: UnscannedResult, message: string): Outcome {
  switch (settings.validation.on_unscanned) {
    case 'hold':
      return 'hold'
    case 'allow':
      return 'warn'
    case 'refuse':
      throw result === 'error'
        ? new Problem('scanner_unavailable', message, {}, { retryAfterSeconds: 60 })
        : new Problem('scan_incomplete', message, {}, { retryAfterSeconds: 3600 })
  }
}

/** Whether a scan that was requested could not judge the package. */
export function isUnscanned(pipeline: Readonly<Record<string, string>>): boolean {
  return ['antivirus', 'cve_scan'].some((key) => UNSCANNED.some((result) => result === pipeline[key]))
}
