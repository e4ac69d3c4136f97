// Holds what a token brings to its scopes: by its name, and by the names of packages that clients would install it for.
import { matchesGlob } from '../domain/glob.ts'
import { refused, requireAllInside, type Scopes } from '../domain/scopes.ts'
import type { Placed } from '../formats/intake-format.ts'
import { claimsOf, type Stated } from './reserved-names.ts'

/** @throws Problem('forbidden') */
export function requireWithin(scopes: Scopes, { distribution, format }: Placed, facts: Stated): void {
  const { name, provides, replaces } = claimsOf(format, facts)
  requireAllInside(scopes, [{ distribution: distribution.codename, format: format.id, name }])
  const allowed = scopes.names
  if (!allowed) return
  for (const [claim, names] of [
    ['provides', provides],
    ['replaces', replaces],
  ] as const) {
    const other = names.flatMap(packageNameIn).find((one) => !allowed.some((pattern) => matchesGlob(pattern, one)))
    if (other !== undefined)
      throw refused(`its scopes allow the names ${allowed.join(', ')}, and this package ${claim} ${other}`)
  }
}

/**
 * The package that a capability stands for. `pkgconfig(x)`, `so:libx.so.1`, `libx.so.1()(64bit)` and `/usr/bin/x` are no names of
 * packages, and nearly every library has some.
 */
function packageNameIn(stated: string): string[] {
  // rpm's `%{_isa}`: `name(x86-64)`.
  const name = stated.replace(/\([a-z0-9_]+-(?:32|64)\)$/, '')
  return /[():/]|\.so(?:\.|$)/.test(name) ? [] : [name]
}
