// What checks see of a package, apart from what follows from it.
import type { Finding, PolicyAction } from './finding.ts'
import type { CheckKey, Coverage, PipelineResult } from './status.ts'

/** A finding before it is judged. One that has its action keeps it: a change of the policy asks nobody again. */
export type Found = Omit<Finding, 'action'> & { action?: PolicyAction }

/** What one check saw. It says nothing about what follows from it. */
export interface Seen {
  check: CheckKey
  /** `scanned`: `findings` say the rest; `no_engine`: nothing is configured that could look */
  result: PipelineResult | 'scanned' | 'no_engine'
  /** where we changed the package since: what was seen of it as it was received */
  received?: PipelineResult
  message: string
  detail?: unknown
  coverage?: Coverage
  /** of the advisories that it was matched with */
  generation?: number | null
  /** of a scan with the result `scanned` */
  findings?: readonly Found[]
  /** a person should know it, whatever the policy says: clients will refuse the signature, say */
  concern?: boolean
}

export interface Evidence {
  checks: readonly Seen[]
  /** all that is known now, whoever found it; by default what the checks found */
  findings?: readonly Found[]
}
