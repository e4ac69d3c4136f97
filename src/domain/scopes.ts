// Scopes of API tokens: restrictions of what its role may do. None of them adds a right.
import { isGlob, matchesGlob } from './glob.ts'
import { Problem } from './problem.ts'

/** What endpoints do, for `actions` of scopes. `manage` is everything else. */
export const SCOPE_ACTIONS = ['read', 'upload', 'import', 'promote', 'delete', 'review', 'manage'] as const
export type ScopeAction = (typeof SCOPE_ACTIONS)[number]

/** A list that is left out restricts nothing. */
export interface Scopes {
  actions?: readonly ScopeAction[] | undefined
  /** formats of the distributions that are changed */
  formats?: readonly string[] | undefined
  /** codenames of the distributions that are changed */
  distributions?: readonly string[] | undefined
  /** package names that are changed; `*` is any text, `?` one character, case counts */
  names?: readonly string[] | undefined
}

/** Packages that a request changes. A missing key could be anything. */
export interface Target {
  distribution?: string | undefined
  format?: string | undefined
  name?: string | undefined
}

const KINDS = [
  { list: 'distributions', key: 'distribution', matches: (allowed: string, value: string) => allowed === value },
  { list: 'formats', key: 'format', matches: (allowed: string, value: string) => allowed === value },
  { list: 'names', key: 'name', matches: matchesGlob },
] as const

/** Whether the token may change some packages only. */
export function hasTargets(scopes: Scopes): boolean {
  return KINDS.some(({ list }) => scopes[list] !== undefined)
}

/** @throws Problem `forbidden` when the token is not made for this action */
export function requireAction(scopes: Scopes, action: ScopeAction): void {
  if (scopes.actions && !scopes.actions.includes(action))
    throw refused(`its scopes allow ${scopes.actions.join(', ')}, and this is ${action}`)
}

/**
 * Checks the known keys of a target; call it again when more is known.
 * @throws Problem `forbidden` when they are outside the scopes
 */
export function requireInside(scopes: Scopes, target: Target): void {
  for (const { list, key, matches } of KINDS) {
    const value = target[key]
    const allowed = scopes[list]
    if (value !== undefined && allowed && !allowed.some((one) => matches(one, value)))
      throw refused(`its scopes allow the ${list} ${allowed.join(', ')}, and this is ${value}`)
  }
}

/** As `requireInside`, when the request will name nothing more. @throws Problem `forbidden` also for a key that is missing */
export function requireAllInside(scopes: Scopes, targets: readonly Target[]): void {
  for (const target of targets) requireInside(scopes, target)
  for (const { list, key } of KINDS) {
    const allowed = scopes[list]
    if (allowed && (targets.length === 0 || targets.some((target) => target[key] === undefined)))
      throw refused(`its scopes allow the ${list} ${allowed.join(', ')}, and this request is not limited to one`)
  }
}

/** @throws Problem `forbidden` when a token of these scopes could do more than one of those */
export function requireNarrower(inner: Scopes | null, outer: Scopes): void {
  for (const list of ['actions', 'formats', 'distributions', 'names'] as const) {
    const allowed = outer[list]
    if (!allowed) continue
    const wanted = inner?.[list]
    if (!wanted) throw refused(`a token that it creates must have ${list} among ${allowed.join(', ')}`)
    const covers = (value: string) =>
      (allowed as readonly string[]).includes(value) ||
      (list === 'names' && !isGlob(value) && allowed.some((pattern) => matchesGlob(pattern, value)))
    const wider = wanted.find((value) => !covers(value))
    if (wider !== undefined)
      throw refused(`a token that it creates may not have ${list} beyond ${allowed.join(', ')}: ${wider}`)
  }
}

/** Whether a token of these scopes can do nothing beyond those. */
export function isWithin(inner: Scopes | null, outer: Scopes): boolean {
  try {
    requireNarrower(inner, outer)
    return true
  } catch {
    return false
  }
}

export function refused(why: string): Problem {
  return new Problem('forbidden', `this token may not do this: ${why}`)
}
