// Whether a package fits into a distribution, however it arrives.
import type { PackageFacts } from '../domain/package.ts'
import { Problem } from '../domain/problem.ts'
import type { Offered } from '../formats/format.ts'
import type { PackageRow } from '../store/tables.ts'

/** How formats call an architecture that fits all: nfpm copies Debian's word into an apk. */
const NEUTRAL_WORDS = ['all', 'any', 'noarch']

/** @throws Problem('arch_mismatch'), or 'invalid_package' for what the distribution's package manager would not install */
export function requireFitting(facts: PackageFacts, { format, distribution }: Offered): void {
  const { codename, architectures } = distribution
  if (!architectures.includes(facts.arch) && !format.neutralArchs.includes(facts.arch)) {
    const advice = NEUTRAL_WORDS.includes(facts.arch) ? `; write ${format.neutralArchs.join(' or ')}` : ''
    throw new Problem(
      'arch_mismatch',
      `${codename} takes ${[...architectures, ...format.neutralArchs].join(' and ')}, this package is for ${facts.arch}${advice}`,
    )
  }
  const refusal = format.refusal?.(facts, distribution) ?? null
  if (refusal !== null) throw new Problem('invalid_package', refusal)
}

/**
 * apk clients fetch by name and version alone, so a noarch and an x86_64 package of one version exclude each other.
 * @param namesakes records of the distribution with the same name and version
 * @throws Problem('duplicate_conflict')
 */
export function refuseTakenPath(
  { format, distribution, filename, sha256, arch }: Offered & Pick<PackageRow, 'filename' | 'sha256' | 'arch'>,
  namesakes: readonly PackageRow[],
): void {
  const paths = new Set(format.packagePaths({ filename, sha256, arch }, distribution))
  const taken = namesakes.find(
    (other) => other.sha256 !== sha256 && format.packagePaths(other, distribution).some((path) => paths.has(path)),
  )
  if (!taken) return
  throw new Problem(
    'duplicate_conflict',
    `${filename} is in ${distribution.codename} for ${taken.arch} with other bytes`,
    {
      existing_sha256: taken.sha256,
      incoming_sha256: sha256,
      status: taken.status,
    },
  )
}
