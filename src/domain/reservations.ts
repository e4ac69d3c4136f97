// Reserved package names: which ways of arrival may bring a name. Protects private names from packages of other sources.
import { matchesGlob } from './glob.ts'

/** A name or a pattern of names, and the only way by which they may arrive. */
export interface Reservation {
  id: number
  /** `*` is any text, `?` one character */
  pattern: string
  /** the format that it applies to; null: all */
  format: string | null
  /** the import source that the names are reserved for; null: uploads */
  source_id: number | null
}

/** What a package file states that makes clients install it in the place of a name. */
export interface Claims {
  format: string
  name: string
  provides: readonly string[]
  /** names of packages that it replaces (rpm Obsoletes) */
  replaces: readonly string[]
}

/** A name that the package must not claim. */
export interface ReservedName {
  name: string
  /** how the package claims it */
  claim: 'name' | 'provides' | 'replaces'
  reservation: Reservation
}

/**
 * The first name that a package claims and that is reserved for another way of arrival. The most specific reservation of a
 * name decides: a whole name before patterns, and the pattern with the most literal characters before others. Equally
 * specific ones allow each of their ways.
 * @param sourceId the import source that it comes from; null for an upload
 */
export function reservedName(
  reservations: readonly Reservation[],
  claims: Claims,
  sourceId: number | null,
): ReservedName | null {
  const relevant = reservations.filter(({ format }) => format === null || format === claims.format)
  if (relevant.length === 0) return null
  const all = [
    { claim: 'name' as const, names: [claims.name] },
    { claim: 'provides' as const, names: claims.provides },
    { claim: 'replaces' as const, names: claims.replaces },
  ]
  for (const { claim, names } of all) {
    for (const name of names) {
      const reservation = deniedBy(relevant, name, sourceId)
      if (reservation) return { name, claim, reservation }
    }
  }
  return null
}

function deniedBy(reservations: readonly Reservation[], stated: string, sourceId: number | null): Reservation | null {
  // A capability of one architecture, such as `foo(x86-64)`, claims the name as well.
  const base = /^([^()]+)\([^()]*\)$/.exec(stated)?.[1]
  const names = base === undefined ? [stated] : [stated, base]
  let decisive: Reservation[] = []
  for (const one of reservations) {
    if (!names.some((name) => matchesPattern(one.pattern, name))) continue
    const more = decisive[0] ? compare(specificity(one.pattern), specificity(decisive[0].pattern)) : 1
    if (more > 0) decisive = [one]
    else if (more === 0) decisive.push(one)
  }
  return decisive.some(({ source_id }) => source_id === sourceId) ? null : (decisive[0] ?? null)
}

function specificity(pattern: string): number {
  const literal = pattern.replace(/[*?]/g, '').length
  return literal === pattern.length ? Infinity : literal
}

/** Not a subtraction: Infinity minus Infinity is NaN. */
const compare = (a: number, b: number) => (a === b ? 0 : a > b ? 1 : -1)

/** Ignores case, as people do when they read names. */
export function matchesPattern(pattern: string, name: string): boolean {
  return matchesGlob(pattern.toLowerCase(), name.toLowerCase())
}
