// Package URLs (https://github.com/package-url/purl-spec): what a package is called outside of this repository. Pure.
import type { Distribution, FormatId } from '../domain/package.ts'

/** As much of a record as its package URL says. */
export interface Named {
  format: FormatId
  name: string
  version: string | null
  arch: string | null
  source_package?: string | null
  source_version?: string | null
}

/**
 * Vendor and release as os-release(5) and scanners know them, by the first word of `Distribution.scannerDistro`, where
 * they are not that word itself.
 */
const SYSTEMS: Record<string, { vendor: string; id: string }> = {
  rockylinux: { vendor: 'rocky', id: 'rocky' },
  oraclelinux: { vendor: 'oracle', id: 'ol' },
  'opensuse/leap': { vendor: 'opensuse', id: 'opensuse-leap' },
  'opensuse/tumbleweed': { vendor: 'opensuse', id: 'opensuse-tumbleweed' },
}

/** A part of a package URL: everything but letters, digits, `.-_~` and `:` is percent-encoded. */
export function encodePart(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%3A/g, ':')
}

/** `?a=b&c=d`, keys in order, empty values left out. */
function qualifiers(values: Record<string, string | null | undefined>): string {
  const given = Object.entries(values).filter((entry): entry is [string, string] => !!entry[1])
  const texts = given.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => `${key}=${encodePart(value)}`)
  return texts.length === 0 ? '' : `?${texts.join('&')}`
}

/**
 * `pkg:deb/ubuntu/curl@7.81.0-1?arch=amd64&distro=ubuntu-22.04`. An rpm's epoch is a qualifier, a deb's part of the
 * version. `upstream` names the source package where it is called otherwise: distributions file advisories under it, and
 * scanners look for it there.
 */
export function purlOf(pkg: Named, distribution: Distribution): string {
  const colon = distribution.scannerDistro.indexOf(':')
  const system = distribution.scannerDistro.slice(0, colon)
  const { vendor, id } = SYSTEMS[system] ?? { vendor: system, id: system }
  const release = distribution.scannerDistro.slice(colon + 1)
  // Debian's and Alpine's names are not case sensitive in a package URL, rpm's are.
  const name = pkg.format === 'rpm' ? pkg.name : pkg.name.toLowerCase()
  const { epoch, version } = pkg.format === 'rpm' ? splitEpoch(pkg.version) : { epoch: null, version: pkg.version }
  const more = qualifiers({
    arch: pkg.arch,
    epoch,
    distro: release === 'latest' ? id : `${id}-${release}`,
    upstream:
      pkg.source_package && pkg.source_package !== pkg.name
        ? `${pkg.source_package}${pkg.source_version ? `@${pkg.source_version}` : ''}`
        : null,
  })
  return `pkg:${pkg.format}/${encodePart(vendor)}/${encodePart(name)}${version ? `@${encodePart(version)}` : ''}${more}`
}

/** `1:2.0-1` is epoch 1 of 2.0-1; an epoch of 0 is none. */
function splitEpoch(version: string | null): { epoch: string | null; version: string | null } {
  const [, epoch, rest] = /^(\d+):(.*)$/s.exec(version ?? '') ?? []
  if (epoch === undefined || rest === undefined) return { epoch: null, version }
  return { epoch: Number(epoch) === 0 ? null : epoch, version: rest }
}

/** A component of another ecosystem found inside a package: a jar, a dist-info directory, a module in node_modules. */
export interface EmbeddedComponent {
  type: 'npm' | 'pypi' | 'maven'
  /** as its ecosystem writes it: `@scope/name`, `group:artifact` */
  name: string
  version: string | null
  /** as it states it itself */
  license?: string | null
  /** where it lies inside the package, without leading slash */
  path?: string | null
}

export function embeddedPurlOf({ type, name, version }: EmbeddedComponent): string {
  const at = version ? `@${encodePart(version)}` : ''
  if (type === 'maven') {
    const [group = '', artifact] = name.split(':', 2)
    return artifact === undefined
      ? `pkg:maven/${encodePart(group)}${at}`
      : `pkg:maven/${encodePart(group)}/${encodePart(artifact)}${at}`
  }
  // Python names compare without case, and with `-` for `_`.
  if (type === 'pypi') return `pkg:pypi/${encodePart(name.toLowerCase().replaceAll('_', '-'))}${at}`
  return `pkg:npm/${name.toLowerCase().split('/').map(encodePart).join('/')}${at}`
}
