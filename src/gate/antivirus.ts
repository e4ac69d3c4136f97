// The malware step: sends the raw file and every decompressed member to the scanner.
import type { Outcome } from '../domain/status.ts'
import type { Antivirus } from './engines/scanner.ts'
import type { Contents } from './contents/contents.ts'
import type { Step, StepResult } from './step.ts'
import { unscannedOutcome } from './unscanned.ts'

/**
 * @param engine null when none is configured. That is `error`, as for an engine that is away; in development it is skipped while
 *   what cannot be scanned is allowed, which is the default there.
 */
export function antivirusStep(engine: Antivirus | null, production: boolean, contents: Contents): Step {
  return {
    key: 'antivirus',
    label: 'Malware scan',
    async run(candidate, settings): Promise<StepResult> {
      if (!settings.validation.clamav_scan) return notScanned('skipped', 'pass', 'malware scanning is switched off')
      if (!engine) {
        const message = 'no malware scanner is configured'
        return production || settings.validation.on_unscanned !== 'allow'
          ? notScanned('error', unscannedOutcome(settings, 'error', message), message)
          : notScanned('skipped', 'warn', message)
      }
      const scan = await engine.scan({
        path: candidate.path,
        filename: candidate.filename,
        sizeBytes: candidate.sizeBytes,
        contents: (...how) => contents(candidate.format.id, candidate.path, ...how),
      })
      const { result, message, coverage } = scan
      const verdict = { name: 'antivirus' as const, result, message, coverage }
      if (result === 'infected') {
        return {
          verdict: { ...verdict, outcome: 'refuse', detail: { signature: scan.signature, member: scan.member } },
        }
      }
      if (result === 'clean') return { verdict: { ...verdict, outcome: 'pass' } }
      return { verdict: { ...verdict, outcome: unscannedOutcome(settings, result, message) } }
    },
  }
}

function notScanned(result: 'skipped' | 'error', outcome: Outcome, message: string): StepResult {
  return { verdict: { name: 'antivirus', outcome, result, message } }
}
