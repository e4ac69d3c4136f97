// The health of the vulnerability scan as probes and the first-run check report it.
import type { Canaries } from './canaries/canaries.ts'
import type { AdvisoryData } from './osv/data.ts'

export interface VulnscanStatus {
  ok: boolean
  version: string | null
  db_age_seconds: number | null
  error?: string
}

/** @param scanner name of the scanner that judges uploads: its failed self-tests make the probe fail */
export function createVulnscanStatus(deps: { advisoryData: AdvisoryData; canaries: Canaries; scanner: string }) {
  return async (): Promise<VulnscanStatus> => {
    const { available, version, error } = await deps.advisoryData.status()
    const failed = deps.canaries.state().scopes.filter((one) => one.failed && one.scanner === deps.scanner)
    const reason =
      error ?? (failed.length > 0 ? `self-test failed for ${failed.map(({ scope }) => scope).join(', ')}` : undefined)
    return {
      ok: available && failed.length === 0,
      version,
      db_age_seconds: await deps.advisoryData.ageSeconds(),
      ...(reason ? { error: reason } : {}),
    }
  }
}
