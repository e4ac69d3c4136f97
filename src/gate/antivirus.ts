// The malware step: sends the raw file and every decompressed member to the scanner.
import type { Antivirus } from './engines/scanner.ts'
import type { Contents } from './contents/contents.ts'
import type { Step, StepResult } from './step.ts'

/**
 * @param engine null when none is configured. In production the result is then `error`, as for an engine that cannot be reached.
 */
export function antivirusStep(engine: Antivirus | null, production: boolean, contents: Contents): Step {
  return {
    key: 'antivirus',
    label: 'Malware scan',
    async run(candidate, settings): Promise<StepResult> {
      if (!settings.validation.clamav_scan)
        return { seen: { result: 'skipped', message: 'malware scanning is switched off' } }
      if (!engine) {
        const message = 'no malware scanner is configured'
        return { seen: { result: production ? 'error' : 'no_engine', message, concern: true } }
      }
      const scan = await engine.scan({
        path: candidate.path,
        filename: candidate.filename,
        sizeBytes: candidate.sizeBytes,
        contents: (...how) => contents(candidate.format.id, candidate.path, ...how),
      })
      const { result, message, coverage } = scan
      const detail = result === 'infected' ? { signature: scan.signature, member: scan.member } : undefined
      return { seen: { result, message, coverage, detail } }
    },
  }
}
