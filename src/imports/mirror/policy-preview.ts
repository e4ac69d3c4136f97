// The policy's verdict on packages before they are fetched: matches their source packages and versions with the advisories.
import { ARRIVING, decide } from '../../domain/decide.ts'
import type { Seen } from '../../domain/evidence.ts'
import { worstAction } from '../../domain/policy.ts'
import type { PolicyAction } from '../../domain/finding.ts'
import { factsToMatch } from '../../domain/package.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Outcome } from '../../domain/status.ts'
import type { Offered } from '../../formats/format.ts'
import { seenBy } from '../../gate/cve-scan.ts'
import type { OsvMatcher } from '../../gate/engines/osv/matcher.ts'
import type { Selected } from './select.ts'

const ACTION_OF: Record<Outcome, PolicyAction> = { pass: 'allow', warn: 'warn', hold: 'review', refuse: 'block' }

const actionOf = (settings: Settings, seen: Seen, now: Date): PolicyAction =>
  ACTION_OF[decide(settings, ARRIVING, { checks: [seen] }, [], now).verdicts[0]!.outcome]

export interface Preview {
  /** what the step `cve_scan` would do; `block` too where an unscanned package would be refused */
  action: PolicyAction
  /** no advisories are known for the distribution, or no malware scanner is available */
  unscanned: boolean
  findings: number
}

/**
 * The gate's step `cve_scan` for each of these packages, in their order. The other steps need the files. So do components:
 * their vulnerabilities are not among the findings.
 * @param canScanMalware false: the files would count as unscanned
 */
export async function previewPolicy(
  matcher: Pick<OsvMatcher, 'scanAll'>,
  { format, distribution }: Offered,
  packages: readonly Selected[],
  settings: Settings,
  now: Date,
  canScanMalware: boolean,
): Promise<Preview[]> {
  const previews = await previewCves(matcher, { format, distribution }, packages, settings, now)
  if (canScanMalware) return previews
  const action = actionOf(settings, { check: 'antivirus', result: 'error', message: '' }, now)
  return previews.map((one) => ({ ...one, unscanned: true, action: worstAction([one, { action }]) }))
}

async function previewCves(
  matcher: Pick<OsvMatcher, 'scanAll'>,
  { format, distribution }: Offered,
  packages: readonly Selected[],
  settings: Settings,
  now: Date,
): Promise<Preview[]> {
  if (!settings.validation.grype_scan) return packages.map(() => ({ action: 'allow', unscanned: true, findings: 0 }))
  const facts = packages.map((one) =>
    factsToMatch({ ...one, format: format.id, sourcePackage: one.source_package, sourceVersion: one.source_version }),
  )
  return (await matcher.scanAll(facts, distribution)).map((scan) => ({
    action: actionOf(settings, seenBy(scan, now), now),
    unscanned: scan.result !== 'scanned',
    findings: scan.findings.length,
  }))
}
