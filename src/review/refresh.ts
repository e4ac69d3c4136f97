// Imports new vulnerability data, and runs the self-test of the scanners afterwards.
import type { Log } from '../kernel/log.ts'
import type { Canaries } from '../gate/engines/canaries/canaries.ts'
import type { Enrichment } from '../gate/engines/enrich/enrichment.ts'
import type { AdvisoryData } from '../gate/engines/osv/data.ts'
import type { UpdateOutcome } from '../gate/engines/scanner.ts'
import { reviseKnown } from './known-exploited.ts'
import type { ApplyDeps } from './apply.ts'
import { systemActor } from './deps.ts'

export type Progress = (line: string) => void

export interface Refresh {
  /**
   * Updates advisories that are older than a day (all of them with `force`). Packages are matched by another task.
   * @param signal ends the update between two sources; what was imported stays
   */
  advisories(progress?: Progress, force?: boolean, signal?: AbortSignal): Promise<UpdateOutcome>
  /** whether there is anything to read for `advisories`, as below */
  readonly hasAdvisories: boolean
  /** whether any list has an address: a closed network has none */
  readonly hasLists: boolean
  /**
   * Updates exploit-prediction scores and the list of known-exploited vulnerabilities, then the packages that have them.
   * @param signal ends it between two packages
   */
  lists(progress?: Progress, force?: boolean, signal?: AbortSignal): Promise<UpdateOutcome>
  /** Scans the self-test packages with every scanner and logs what a scanner missed. */
  selfTest(): Promise<{ shown: number; failed: number }>
  /** Marks CVEs as known to be exploited. @returns how many packages changed */
  exploited(entries: Parameters<Enrichment['addExploited']>[0]): Promise<number>
}

export function createRefresh(
  deps: ApplyDeps & {
    log: Log
    advisoryData: AdvisoryData
    enrichment: Enrichment
    canaries: Canaries
  },
): Refresh {
  const { log, advisoryData, enrichment, canaries } = deps
  /** False at start: the previous process may have ended after its update of the lists, before the last package. */
  let isRevised = false

  async function selfTest() {
    const scopes = await canaries.check()
    const failed = scopes.filter((one) => one.failed).map(({ scanner, scope }) => `${scanner} (${scope})`)
    if (failed.length > 0) log.error({ failed }, 'scanners failed their self-test: what they pass counts as unscanned')
    return { shown: scopes.length, failed: failed.length }
  }

  return {
    hasAdvisories: advisoryData.hasSources,
    hasLists: enrichment.hasLists,
    selfTest,
    async advisories(progress, force = false, signal) {
      const outcome = await advisoryData.update(progress, { force, ...(signal ? { signal } : {}) })
      if (outcome.status === 'updated') await selfTest()
      return outcome
    },
    async lists(progress, force = false, signal) {
      const { exploited, ...outcome } = await enrichment.refresh({ force, ...(progress ? { progress } : {}) })
      if (outcome.status !== 'updated' && isRevised) return outcome
      isRevised = false
      const changed = await reviseKnown(deps, enrichment.enrich, null, systemActor('scheduler'), signal)
      isRevised = true
      if (outcome.status !== 'updated') return outcome
      const message = `${outcome.message}; ${exploited.length} newly known to be exploited, ${changed} packages changed`
      return { ...outcome, message }
    },
    async exploited(entries) {
      await enrichment.addExploited(entries)
      const cves = entries.map(({ cve }) => cve)
      return reviseKnown(deps, enrichment.enrich, cves, systemActor('webhook'))
    },
  }
}
