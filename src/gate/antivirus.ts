// The malware step: sends the raw file and every decompressed member to the scanner.
import type { Outcome } from '../domain/status.ts'
import type { Antivirus } from '../scanners/scanner.ts'
import type { Step, StepResult } from './step.ts'
import { unscannedOutcome } from './unscanned.ts'

/** @param engine null when none is configured: the step is then skipped in development and `error` in production */
export function antivirusStep(engine: Antivirus | null, production: boolean): Step {
  return {
    key: 'antivirus',
    label: 'Malware scan',
    async run(candidate, settings): Promise<StepResult> {
      if (!settings.validation.clamav_scan) return notScanned('skipped', 'pass', 'malware scanning is switched off')
      if (!engine) {
        const message = 'no malware scanner is configured'
        return production
          ? notScanned('error', unscannedOutcome(settings, 'error', message), message)
          : notScanned('skipped', 'warn', message)
      }
      const scan = await engine.scan({
        path: candidate.path,
        filename: candidate.filename,
        sizeBytes: candidate.sizeBytes,
        members: () => candidate.format.members(candidate.path),
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
