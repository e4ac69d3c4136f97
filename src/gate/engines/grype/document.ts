// A package as input for grype: the document on stdin and the `--distro` option. Pure.
import type { Distribution, PackageFacts } from '../../../domain/package.ts'
import { formatPackageUrl, splitEpoch, splitScannerDistro } from '../../../domain/purl.ts'
import { packageDocument, sourceOf } from '../external/package-document.ts'

/** Ids that grype names differently; for an unknown id it silently finds nothing. */
const IDS: Readonly<Record<string, string>> = { 'opensuse/leap': 'opensuse-leap' }

/** The value of `--distro`: `almalinux:9`. */
export function grypeDistro(distribution: Distribution): string {
  const { system, release } = splitScannerDistro(distribution)
  return `${IDS[system] ?? system}:${release}`
}

/** CycloneDX; grype reads format, epoch and source package from the package URL. */
export function grypeDocument(facts: PackageFacts, distribution: Distribution): string {
  const { system } = splitScannerDistro(distribution)
  const { epoch, rest } = facts.format === 'rpm' ? splitEpoch(facts.version) : { epoch: null, rest: facts.version }
  const purl = formatPackageUrl({
    type: facts.format,
    namespace: system.split('/')[0]!,
    name: facts.name,
    version: rest,
    qualifiers: {
      arch: facts.arch,
      epoch,
      distro: grypeDistro(distribution).replace(':', '-'),
      upstream: upstreamOf(facts),
    },
  })
  return packageDocument({ purl, name: facts.name, version: facts.version })
}

/** `source@version`; of an rpm the name of the source file, which never has an epoch. */
function upstreamOf(facts: PackageFacts): string | null {
  const source = sourceOf(facts)
  if (source === null) return null
  if (facts.format !== 'rpm') return `${source.name}@${source.version}`
  // grype matches the package's own name anyway.
  return source.name === facts.name ? null : `${source.name}-${splitEpoch(source.version).rest}.src.rpm`
}
