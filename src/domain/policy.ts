// The CVE policy: what happens to a package because of its findings (docs/api-decisions.md, section 6). Pure.
import { ACTIONS, type PolicyAction, type Severity, type SeverityKey } from './finding.ts'

/** Actions by severity; a severity that is absent or null counts as `allow`. */
export type PolicyActions = { readonly [K in SeverityKey]?: PolicyAction | null }

/** The policy's action for a severity. */
export function actionFor(policy: PolicyActions, severity: Severity): PolicyAction {
  return policy[severity.toLowerCase() as SeverityKey] ?? 'allow'
}

/** The strictest action of all findings, block > review > warn > allow; `allow` when there are none. */
export function worstAction(findings: Iterable<{ readonly action: PolicyAction }>): PolicyAction {
  let worst: PolicyAction = 'allow'
  // ACTIONS is ordered by strictness, strictest first.
  for (const { action } of findings) if (ACTIONS.indexOf(action) < ACTIONS.indexOf(worst)) worst = action
  return worst
}
