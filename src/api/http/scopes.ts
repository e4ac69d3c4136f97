// Checks requests against the scopes of tokens: the action before the body is read, the packages when they are known.
import type { Caller } from '../../domain/caller.ts'
import {
  hasTargets,
  refused,
  requireAction,
  requireAllInside,
  type ScopeAction,
  type Target,
} from '../../domain/scopes.ts'
import type { Route } from './route.ts'

/** What the route does for tokens with scopes. */
export function actionOf(route: Pick<Route, 'method' | 'access' | 'action'>): ScopeAction | 'always' | 'never' {
  return route.action ?? (route.access === 'admin' || route.method !== 'GET' ? 'manage' : 'read')
}

/** @throws Problem `forbidden` */
export function requireScopedAction(caller: Caller, route: Route): void {
  const { scopes } = caller
  const action = actionOf(route)
  if (!scopes || action === 'always') return
  if (action === 'never') throw refused('tokens with scopes cannot do what could give them more rights')
  requireAction(scopes, action)
  if (action !== 'read' && hasTargets(scopes) && !route.targets)
    throw refused('its scopes limit it to some packages, and this concerns more than packages')
}

/**
 * @param formatOf the format of a distribution; null when there is no such distribution
 * @throws Problem `forbidden`
 */
export function requireScopedTargets(
  caller: Caller,
  route: Route,
  input: { params: unknown; query: unknown; body: unknown },
  formatOf: (codename: string) => string | null,
): void {
  const { scopes } = caller
  if (!scopes || !hasTargets(scopes) || typeof route.targets !== 'function') return
  const targets = route.targets(input as never)
  const withFormat = (target: Target): Target => ({
    ...target,
    format: (target.distribution === undefined ? null : formatOf(target.distribution)) ?? undefined,
  })
  requireAllInside(scopes, targets.map(withFormat))
}
