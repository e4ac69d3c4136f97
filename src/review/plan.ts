// Reads and checks the body of a decision; contradictory fields are refused. Pure.
import { invalidField } from '../domain/problem.ts'
import { DECISION_ACTIONS, type DecisionAction } from '../domain/status.ts'

const MAX_JUSTIFICATION = 2000
const MAX_DAYS = 3650

/** The body of `POST .../decide` (docs/api-decisions.md, section 9). */
export interface DecisionBody {
  decision?: 'approve' | 'reject' | undefined
  action?: DecisionAction | undefined
  justification: string
  expires_in_days?: number | null | undefined
  cve_ids?: readonly string[] | null | undefined
  target_version?: string | null | undefined
}

export interface Plan {
  /** null while an upgrade is awaited */
  decision: 'approve' | 'reject' | null
  action: DecisionAction
  justification: string
  expiresInDays: number | null
  /** null when the decision is about the package as a whole */
  cveIds: readonly string[] | null
  targetVersion: string | null
}

const DECISION_OF: Record<DecisionAction, Plan['decision']> = {
  accept_risk: 'approve',
  exception: 'approve',
  reject: 'reject',
  upgrade_required: null,
}

/** @throws Problem('validation_error') that names the field */
export function readPlan(body: DecisionBody): Plan {
  const justification = body.justification.trim()
  if (justification.length === 0) throw invalidField('justification', 'is required')
  // A zero-width space or a dot explains nothing to later readers.
  if (!/[\p{L}\p{N}]/u.test(justification)) throw invalidField('justification', 'has neither a letter nor a digit')
  if (justification.length > MAX_JUSTIFICATION)
    throw invalidField('justification', `is longer than ${MAX_JUSTIFICATION} characters`)
  const days = body.expires_in_days ?? null
  if (days !== null && !(Number.isInteger(days) && days >= 1 && days <= MAX_DAYS))
    throw invalidField('expires_in_days', `must be from 1 to ${MAX_DAYS}`)
  const action = actionOf(body, days)
  const decision = DECISION_OF[action]
  if (body.decision !== undefined && body.decision !== decision)
    throw invalidField('action', `${action} contradicts the decision ${body.decision}`)
  if (action === 'exception' && days === null) throw invalidField('expires_in_days', 'is required for an exception')
  if (action !== 'exception' && days !== null)
    throw invalidField('expires_in_days', `contradicts ${action}: only an exception expires`)
  const targetVersion = body.target_version?.trim() || null
  if (targetVersion !== null && action === 'reject') throw invalidField('target_version', 'contradicts reject')
  const cveIds = body.cve_ids ? [...new Set(body.cve_ids)] : null
  return { decision, action, justification, expiresInDays: days, cveIds, targetVersion }
}

function actionOf(body: DecisionBody, days: number | null): DecisionAction {
  if (body.action !== undefined) {
    if (!DECISION_ACTIONS.includes(body.action))
      throw invalidField('action', `must be one of ${DECISION_ACTIONS.join(', ')}`)
    return body.action
  }
  if (body.decision === 'approve') return days === null ? 'accept_risk' : 'exception'
  if (body.decision === 'reject') return 'reject'
  throw invalidField('decision', 'is required: approve or reject, or an action instead')
}
