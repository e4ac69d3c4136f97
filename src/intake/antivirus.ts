// The malware step: the raw file and every decompressed member go to the engine.
import type { Antivirus } from '../scanners/scanner.ts'
import type { Step } from './arrival.ts'
import { unscannedOutcome } from './unscanned.ts'

/** @param engine null when none is configured: skipped in development, unscanned in production */
export function antivirusStep(engine: Antivirus | null, production: boolean): Step {
  return {
    key: 'antivirus',
    label: 'Malware scan',
    async run(candidate, settings) {
      const say = (word: 'skipped' | 'error', outcome: 'pass' | 'warn' | 'hold', message: string) => ({
        verdict: { name: 'antivirus' as const, outcome, word, message },
      })
      if (!settings.validation.clamav_scan) return say('skipped', 'pass', 'malware scanning is switched off')
      if (!engine) {
        const message = 'no malware scanner is configured'
        return production
          ? say('error', unscannedOutcome(settings, 'error', message) as 'warn' | 'hold', message)
          : say('skipped', 'warn', message)
      }
      const result = await engine.scan({
        path: candidate.path,
        filename: candidate.filename,
        sizeBytes: candidate.sizeBytes,
        members: () => candidate.format.members(candidate.path),
      })
      const verdict = {
        name: 'antivirus' as const,
        word: result.word,
        message: result.message,
        coverage: result.coverage,
      }
      if (result.word === 'infected') {
        return {
          verdict: {
            ...verdict,
            outcome: 'refuse' as const,
            detail: { signature: result.signature, member: result.member },
          },
        }
      }
      if (result.word === 'clean') return { verdict: { ...verdict, outcome: 'pass' as const } }
      return { verdict: { ...verdict, outcome: unscannedOutcome(settings, result.word, result.message) } }
    },
  }
}
