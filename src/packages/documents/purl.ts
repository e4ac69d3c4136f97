// Package URLs of records and of their components. Pure.
import { formatPackageUrl, splitEpoch, splitScannerDistro } from '../../domain/purl.ts'
import type { Placed } from '../../formats/intake-format.ts'

/** The parts of a record that its package URL contains. */
export interface Named {
  name: string
  version: string | null
  arch: string | null
  source_package?: string | null
  source_version?: string | null
}

/**
 * `pkg:deb/ubuntu/curl@7.81.0-1?arch=amd64&distro=ubuntu-22.04`. An rpm's epoch is a qualifier, a deb's part of the
 * version. `upstream` is the source package if its name differs: distributions publish advisories under it, and scanners
 * use it.
 */
export function purlOf(pkg: Named, { distribution, format }: Placed): string {
  const rules = format.purl
  if (format.isLibrary) return libraryPurlOf({ ...pkg, type: rules.type as LibraryType })
  const { system, release } = splitScannerDistro(distribution)
  const { vendor, id } = rules.systems?.[system] ?? { vendor: system, id: system }
  const split = rules.epochQualifier && pkg.version !== null ? splitEpoch(pkg.version) : null
  return formatPackageUrl({
    type: rules.type,
    namespace: vendor,
    name: rules.lowerCaseNames ? pkg.name.toLowerCase() : pkg.name,
    version: split?.rest ?? pkg.version,
    qualifiers: {
      arch: pkg.arch,
      epoch: split?.epoch,
      distro: release === 'latest' ? id : `${id}-${release}`,
      upstream:
        pkg.source_package && pkg.source_package !== pkg.name
          ? `${pkg.source_package}${pkg.source_version ? `@${pkg.source_version}` : ''}`
          : null,
    },
  })
}

export type LibraryType = 'npm' | 'pypi' | 'maven'

/** A component of another ecosystem found inside a package: a jar, a dist-info directory, a module in node_modules. */
export interface EmbeddedComponent {
  type: LibraryType
  /** as its ecosystem writes it: `@scope/name`, `group:artifact` */
  name: string
  version: string | null
  /** as the component states it */
  license?: string | null
  /** path inside the package, without leading slash */
  path?: string | null
}

export function libraryPurlOf({ type, name, version }: EmbeddedComponent): string {
  switch (type) {
    case 'maven': {
      const [group = '', artifact] = name.split(':', 2)
      return artifact === undefined
        ? formatPackageUrl({ type, namespace: null, name: group, version })
        : formatPackageUrl({ type, namespace: group, name: artifact, version })
    }
    case 'pypi':
      // PyPI names ignore case and treat `_` as `-` (PEP 503).
      return formatPackageUrl({ type, namespace: null, name: name.toLowerCase().replaceAll('_', '-'), version })
    case 'npm': {
      const slash = name.lastIndexOf('/')
      const [scope, plain] = slash < 0 ? [null, name] : [name.slice(0, slash), name.slice(slash + 1)]
      return formatPackageUrl({
        type,
        namespace: scope?.toLowerCase() ?? null,
        name: plain.toLowerCase(),
        version,
      })
    }
  }
}
