// Package URLs (https://github.com/package-url/purl-spec): encoding, rpm epochs and distribution ids. Pure.
import type { Distribution } from './package.ts'

/** A package URL in its parts, not yet encoded. */
export interface PackageUrl {
  type: string
  /** the vendor of a distribution, the group of a Maven artifact; null where the type has none */
  namespace: string | null
  name: string
  version: string | null
  /** null and empty values are left out */
  qualifiers?: Readonly<Record<string, string | null | undefined>>
}

/** `pkg:rpm/almalinux/curl@7.76.1-31.el9?arch=x86_64&epoch=1`, qualifiers sorted by key. */
export function formatPackageUrl({ type, namespace, name, version, qualifiers = {} }: PackageUrl): string {
  const path = [...(namespace?.split('/') ?? []), name].map(encodePurlPart).join('/')
  const given = Object.entries(qualifiers).filter((entry): entry is [string, string] => !!entry[1])
  const query = given.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => `${key}=${encodePurlPart(value)}`)
  return `pkg:${type}/${path}${version ? `@${encodePurlPart(version)}` : ''}${query.length > 0 ? `?${query.join('&')}` : ''}`
}

/** Percent-encodes everything but letters, digits, `.-_~` and `:` (purl specification, "Character encoding"). */
export function encodePurlPart(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%3A/g, ':')
}

/**
 * Splits an rpm version `epoch:version-release`. Epoch 0 becomes null, because rpm treats a missing epoch as 0
 * (rpm-version(7)): `0:4.4-1` and `4.4-1` are one version and must give one package URL.
 */
export function splitEpoch(version: string): { epoch: string | null; rest: string } {
  const [, epoch, rest] = /^(\d+):(.*)$/s.exec(version) ?? []
  if (epoch === undefined || rest === undefined) return { epoch: null, rest: version }
  const significant = epoch.replace(/^0+/, '')
  return { epoch: significant === '' ? null : significant, rest }
}

/** Splits the scanner id of a distribution: `opensuse/leap:15.6` is release `15.6` of the system `opensuse/leap`. */
export function splitScannerDistro({ scannerDistro }: Pick<Distribution, 'scannerDistro'>): {
  system: string
  release: string
} {
  const colon = scannerDistro.indexOf(':')
  return colon < 0
    ? { system: scannerDistro, release: '' }
    : { system: scannerDistro.slice(0, colon), release: scannerDistro.slice(colon + 1) }
}
