// What checks see of a package, without any decision.
import type { Finding, PolicyAction } from './finding.ts'
import type { CheckKey, Coverage, PipelineResult } from './status.ts'

/** A finding before it is judged. One that has its action keeps it: a change of the policy asks nobody again. */
export type Found = Omit<Finding, 'action'> & { action?: PolicyAction }

/** What one check saw. It decides nothing. */
export interface Seen {
  check: CheckKey
  /** `scanned`: see `findings`; `no_engine`: no engine is configured */
  result: PipelineResult | 'scanned' | 'no_engine'
  /** the result for the package as received, if we changed it since */
  received?: PipelineResult
  message: string
  detail?: unknown
  coverage?: Coverage
  /** of the advisories that the package was matched with */
  generation?: number | null
  /** of a scan with the result `scanned` */
  findings?: readonly Found[]
  /** a person should know of it, whatever the policy says; for example, clients will refuse the signature */
  concern?: boolean
}

export interface Evidence {
  checks: readonly Seen[]
  /** all findings known now, whoever found them; by default those of the checks */
  findings?: readonly Found[]
}
