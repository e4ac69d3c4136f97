// The errors of a route that follow from its declaration.
import type { ProblemCode } from '../../domain/problem.ts'
import { ACCESS } from '../../domain/roles.ts'
import type { Declaration } from './route.ts'

/** All codes that a declaration can imply. `not_found`: a path parameter of more than 2 KB. */
export const IMPLIED_CODES = [
  'validation_error',
  'unauthorized',
  'feature_unavailable',
  'forbidden',
  'mfa_required',
  'session_required',
  'not_found',
  'body_too_large',
  'rate_limited',
  'internal_error',
  'database_busy',
  'database_unavailable',
  'overloaded',
  'passive_replica',
  'idempotency_in_progress',
  'idempotency_key_reused',
  'changed_meanwhile',
  'shutting_down',
] as const satisfies readonly ProblemCode[]

type ImpliedCode = (typeof IMPLIED_CODES)[number]

/** Error codes that follow from a route's declaration, in addition to those it lists. */
export function impliedProblems(route: Declaration): ImpliedCode[] {
  const { access, flags = {} } = route
  const isPublic = access === 'public'
  const takesBody = route.method !== 'GET'
  const codes: ImpliedCode[] = ['internal_error']
  // Health is answered until the end.
  if (route.tag !== 'health') codes.push('shutting_down')
  if (route.limit !== 'none') codes.push('rate_limited')
  if (!route.root) codes.push('database_unavailable', 'database_busy')
  if (route.params || route.query || takesBody) codes.push('validation_error')
  if (takesBody) codes.push('body_too_large')
  // Of all anonymous callers the largest bodies are dropped first.
  if (takesBody && isPublic) codes.push('overloaded')
  if (!isPublic) codes.push('unauthorized')
  if (isRefusedToSome(route)) codes.push('forbidden')
  if (flags.sessionOnly) codes.push('session_required')
  if (!isPublic && !flags.enrolment) codes.push('mfa_required')
  if (flags.enterprise) codes.push('feature_unavailable')
  if (flags.leaderOnly || flags.needsLeader) codes.push('passive_replica')
  if (route.edited && takesBody) codes.push('changed_meanwhile')
  if (route.idempotencyKey) codes.push('idempotency_in_progress', 'idempotency_key_reused')
  return codes
}

/** Whether some roles, or tokens with scopes, are refused. */
function isRefusedToSome({ access, action, flags }: Declaration): boolean {
  if (access === 'public') return false
  return ACCESS[access].length < ACCESS['reader+'].length || (action !== 'always' && !flags?.sessionOnly)
}
