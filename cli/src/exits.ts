// Exit codes, and the exit code for each error code.
import type { Problem } from 'gatehouse-client'

export const EXITS = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  signedOut: 4,
  held: 5,
  notFound: 6,
  interrupted: 130,
  terminated: 143,
} as const

export type Exit = (typeof EXITS)[keyof typeof EXITS]

/** The meaning of each code, for help, manual and documentation. */
export const EXIT_TEXTS: [Exit, string][] = [
  [0, 'done, or the same bytes are there already'],
  [1, 'failed, after retries where they make sense'],
  [2, 'wrong use; no file matched; what was named fits several'],
  [3, 'refused: quarantined, rejected, or other bytes have that name and version; findings that --fail-on names'],
  [4, 'not signed in, or no right to do this'],
  [5, 'held for review (with --allow-held: 0; with --wait: what people decide)'],
  [6, 'what was named does not exist'],
  [130, 'interrupted (SIGINT)'],
  [143, 'ended by SIGTERM'],
]

/** The gravest first: with several files, the gravest decides the exit code. */
const GRAVEST: Exit[] = [143, 130, 4, 3, 2, 6, 1, 5, 0]

export function gravest(exits: readonly Exit[]): Exit {
  return GRAVEST.find((exit) => exits.includes(exit)) ?? EXITS.done
}

/** The signed-in person may not do this. Parts of an answer have only the code. */
const NO_RIGHT = new Set([
  'unauthorized',
  'forbidden',
  'self_approval',
  'no_credential',
  'access_denied',
  'expired_token',
])
/** The server understood the request and will refuse it again. */
const REFUSED = new Set([
  'duplicate_conflict',
  'bytes_changed',
  'name_reserved',
  'not_empty',
  'not_hosted',
  'policy_hold',
  'version_spent',
  'policy_blocked',
  'rejected_bytes',
  'invalid_package',
  'file_too_large',
  'not_published',
])
/** The command was given an invalid value. */
const USAGE = new Set([
  'validation_error',
  'ambiguous',
  'unknown_distribution',
  'distribution_inactive',
  'format_mismatch',
  'arch_mismatch',
  'same_distribution',
  'invalid_role',
  'unknown_key',
  'unknown_api_version',
  'invalid_archive_name',
])

export function exitOf({ code, status }: Pick<Problem, 'code' | 'status'>): Exit {
  if (code === 'aborted') return EXITS.interrupted
  if (status === 401 || status === 402 || status === 403 || NO_RIGHT.has(code)) return EXITS.signedOut
  if (REFUSED.has(code)) return EXITS.refused
  if (USAGE.has(code)) return EXITS.usage
  if (code === 'not_found') return EXITS.notFound
  return EXITS.failed
}

/** The exit code for a package with this status. */
export function exitOfStatus(status: string): Exit {
  if (status === 'published') return EXITS.done
  return status === 'pending_review' ? EXITS.held : EXITS.refused
}
