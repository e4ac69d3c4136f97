// Whether a package fits into a distribution, however it arrives.
import type { PackageFacts } from '../domain/package.ts'
import { Problem } from '../domain/problem.ts'
import { refused } from '../formats/catalog.ts'
import { archsOf } from '../formats/architectures.ts'
import type { IntakeFormat, Placed } from '../formats/intake-format.ts'
import type { PackageRow } from '../store/tables.ts'
import type { Candidate } from '../gate/step.ts'
import type { Listing } from './arrival.ts'

/** Names of the architecture that fits all: nfpm writes Debian's name into an apk. */
const NEUTRAL_WORDS = ['all', 'any', 'noarch']

/** @throws Problem('arch_mismatch'), or 'invalid_package' for a package that the distribution's package manager cannot install */
export function requireFitting(facts: PackageFacts, { format, distribution }: Placed): void {
  const taken = archsOf(format, distribution)
  if (!format.isLibrary && !taken.includes(facts.arch)) {
    const advice = NEUTRAL_WORDS.includes(facts.arch) ? `; write ${format.neutralArchs.join(' or ')}` : ''
    throw new Problem(
      'arch_mismatch',
      `${distribution.codename} takes ${taken.join(' and ')}, this package is for ${facts.arch}${advice}`,
    )
  }
  const refusal = format.refusal?.(facts, distribution) ?? null
  if (refusal !== null) throw new Problem('invalid_package', refusal)
}

/**
 * The file must be the package that was requested: a policy, a selection, a scope and a person looked at the name in the
 * catalog. Indexes of Alpine list a noarch package under the architecture of the index (`apk index --rewrite-arch`).
 * @throws Problem('upstream_error') when the file is another package, version or architecture than its source lists
 */
export function requireListed(
  { name, version, arch }: PackageFacts,
  { neutralArchs }: Pick<IntakeFormat, 'neutralArchs'>,
  listed: Listing,
): void {
  const fits = arch === listed.arch || neutralArchs.includes(arch)
  if (name === listed.package && version === listed.version && fits) return
  throw refused(
    'malformed',
    `the source lists ${listed.package} ${listed.version} (${listed.arch}), and the file is ${name} ${version} (${arch})`,
  )
}

/**
 * Where a source has keys but its index is not signed, its packages must be signed (Fedora signs no index).
 * @param signers the keys of the source
 * @throws Problem('upstream_error')
 */
export async function requireSigned(
  { path, format, facts }: Pick<Candidate, 'path' | 'format' | 'facts'>,
  signers: readonly string[],
): Promise<void> {
  const { outcome, keyId } = (await format.verifySignature?.(path, signers)) ?? { outcome: 'unsigned' as const }
  if (outcome === 'verified') return
  const found = {
    unsigned: 'is not signed',
    unknown_key: `is signed by ${keyId ?? 'an unknown key'}, which is none of the source's keys`,
    invalid: 'has a wrong signature',
  }[outcome]
  throw refused(
    outcome === 'unsigned' ? 'unsigned' : 'signature',
    `${facts.name} ${facts.version} ${found}; the index of the source is not signed either, so each package must be`,
  )
}

/**
 * apk clients fetch by name and version alone, so a noarch and an x86_64 package of one version exclude each other.
 * @param namesakes records of the distribution with the same name and version
 * @throws Problem('duplicate_conflict')
 */
export function refuseTakenPath(
  { format, distribution, filename, sha256, arch }: Placed & Pick<PackageRow, 'filename' | 'sha256' | 'arch'>,
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
