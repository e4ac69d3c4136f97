// The refusal of an undeclared codename. It names the distribution that was probably meant, or all of them.
import type { Distribution } from '../domain/package.ts'
import { Problem } from '../domain/problem.ts'

/** @param code `not_found` if the codename is part of the address */
export function unknownDistribution(
  codename: string,
  known: readonly Distribution[],
  code: 'unknown_distribution' | 'not_found',
): Problem {
  const meant = meantBy(codename, known)
  const hint =
    meant.length > 0
      ? `did you mean ${meant.join(' or ')}?`
      : `known: ${known.map((distribution) => distribution.codename).join(', ')}`
  return new Problem(code, `there is no distribution ${JSON.stringify(codename.slice(0, 100))}; ${hint}`)
}

/** Codenames that a text probably means: with equal letters, by system and release, or with up to two typing errors. */
export function meantBy(text: string, known: readonly Distribution[]): string[] {
  const wanted = plain(text)
  if (wanted === '' || wanted.length > 100) return []
  const exact = known.filter((one) => namesOf(one).some((name) => plain(name) === wanted))
  const near = known.filter((one) => distance(plain(one.codename), wanted) <= (wanted.length < 6 ? 1 : 2))
  return (exact.length > 0 ? exact : near).slice(0, 3).map(({ codename }) => codename)
}

const namesOf = (one: Distribution) => [
  one.codename,
  one.name,
  one.fullName,
  ...(one.aliases ?? []),
  one.scannerDistro,
  `${one.os} ${one.osVersion}`,
  `${one.os} ${one.osVersion} ${one.codename}`,
]

const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '')

/** Insertions, deletions and substitutions between two texts (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] ?? 0) + Number(a[i - 1] !== b[j - 1])
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
