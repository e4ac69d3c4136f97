// Restricts packages to the token's scopes: by their name, and by the names that clients would install them for.
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
 * The package name in a capability. `pkgconfig(x)`, `so:libx.so.1`, `libx.so.1()(64bit)` and `/usr/bin/x` are not package
 * names, and nearly every library has some of them.
 */
function packageNameIn(stated: string): string[] {
  // rpm's `%{_isa}`: `name(x86-64)`.
  const name = stated.replace(/\([a-z0-9_]+-(?:32|64)\)$/, '')
  return /[():/]|\.so(?:\.|$)/.test(name) ? [] : [name]
}
