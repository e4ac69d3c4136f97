// Builds the request from a filled-in form.
import { daysOf, NO_END, type Ending } from './ending.ts'
import type { Action } from './item.ts'
import type { RecordId } from './record-id.ts'
import type { Scope } from './scope.tsx'

/** The reviewer's input. It stays until the decision is made, whatever else happens to the package. */
export interface Draft {
  reason: string
  ending: Ending
  /** the version that `upgrade_required` asks for */
  target: string
}

export const EMPTY_DRAFT: Draft = { reason: '', ending: NO_END, target: '' }

export const approves = (action: Action): boolean => action === 'accept_risk' || action === 'exception'

export interface Decision {
  record: RecordId
  action: Action
  draft: Draft
  scope: Scope
  /** whether the version has other held files in the repository */
  hasFiles: boolean
  /** digest of the shown file. If the package was replaced meanwhile, the service refuses. */
  sha256: string
}

/** @returns null while the end is missing: without one an approval would be valid for ever */
export function bodyOf(
  { record: { distribution, arch }, action, draft, scope, hasFiles, sha256 }: Decision,
  now: number,
) {
  const days = approves(action) ? daysOf(draft.ending, now) : null
  if (days === undefined) return null
  return {
    // With an end it is an exception: the API has two names for the same button. It refuses an exception without an end.
    action: approves(action)
      ? draft.ending.choice === 'none'
        ? ('accept_risk' as const)
        : ('exception' as const)
      : action,
    justification: draft.reason,
    // Without a distribution it covers all distributions that hold these bytes.
    ...(scope.elsewhere && !(hasFiles && scope.files) ? {} : { distribution }),
    // Without an architecture it covers all held files of the version.
    ...(hasFiles && scope.files ? {} : { arch }),
    sha256,
    ...(scope.findings !== null && { cve_ids: [...scope.findings] }),
    ...(days !== null && { expires_in_days: days }),
    ...(action === 'upgrade_required' && draft.target && { target_version: draft.target }),
  }
}
