// The built-in import sources, by their keys in `settings.sources` and `settings.mirror.sources`.
import type { FormatId } from './package.ts'

export interface BuiltInSource {
  format: FormatId
  /** codename of the distribution that takes its packages */
  distribution: string
  label: string
  /** has security updates: the daily sync reads it */
  security: boolean
}

const source = (format: FormatId, distribution: string, label: string, security: boolean): BuiltInSource => ({
  format,
  distribution,
  label,
  security,
})

/** One key is one repository with one set of metadata. A repository that also carries the security updates is marked `security`. */
// prettier-ignore
export const BUILT_IN_SOURCES = {
  'ubuntu-jammy': source('deb', 'jammy', 'Ubuntu 22.04', false),
  'ubuntu-jammy-updates': source('deb', 'jammy', 'Ubuntu 22.04 updates', false),
  'ubuntu-noble': source('deb', 'noble', 'Ubuntu 24.04', false),
  'ubuntu-focal': source('deb', 'focal', 'Ubuntu 20.04', false),
  'debian-bookworm': source('deb', 'bookworm', 'Debian 12', false),
  'ubuntu-jammy-security': source('deb', 'jammy', 'Ubuntu 22.04 security', true),
  'ubuntu-noble-security': source('deb', 'noble', 'Ubuntu 24.04 security', true),
  'ubuntu-focal-security': source('deb', 'focal', 'Ubuntu 20.04 security', true),
  'debian-bookworm-security': source('deb', 'bookworm', 'Debian 12 security', true),

  'almalinux-8': source('rpm', 'almalinux8', 'AlmaLinux 8 BaseOS', true),
  'almalinux-8-appstream': source('rpm', 'almalinux8', 'AlmaLinux 8 AppStream', true),
  'almalinux-9': source('rpm', 'almalinux9', 'AlmaLinux 9 BaseOS', true),
  'almalinux-9-appstream': source('rpm', 'almalinux9', 'AlmaLinux 9 AppStream', true),
  'rocky-8': source('rpm', 'rocky8', 'Rocky Linux 8 BaseOS', true),
  'rocky-8-appstream': source('rpm', 'rocky8', 'Rocky Linux 8 AppStream', true),
  'rocky-9': source('rpm', 'rocky9', 'Rocky Linux 9 BaseOS', true),
  'rocky-9-appstream': source('rpm', 'rocky9', 'Rocky Linux 9 AppStream', true),
  'centos-stream-9': source('rpm', 'centos-stream9', 'CentOS Stream 9 BaseOS', true),
  'centos-stream-9-appstream': source('rpm', 'centos-stream9', 'CentOS Stream 9 AppStream', true),
  'oraclelinux-8': source('rpm', 'oraclelinux8', 'Oracle Linux 8 BaseOS', true),
  'oraclelinux-8-appstream': source('rpm', 'oraclelinux8', 'Oracle Linux 8 AppStream', true),
  fedora: source('rpm', 'fedora', 'Fedora 42', false),
  'fedora-updates': source('rpm', 'fedora', 'Fedora 42 updates', true),
  'opensuse-leap-15.6': source('rpm', 'opensuse-leap-15.6', 'openSUSE Leap 15.6', false),
  'opensuse-leap-15.6-update': source('rpm', 'opensuse-leap-15.6', 'openSUSE Leap 15.6 updates', true),
  'opensuse-tumbleweed': source('rpm', 'opensuse-tumbleweed', 'openSUSE Tumbleweed', true),

  'alpine-3.18': source('apk', 'alpine3.18', 'Alpine 3.18 main', true),
  'alpine-3.18-community': source('apk', 'alpine3.18', 'Alpine 3.18 community', true),
  'alpine-3.19': source('apk', 'alpine3.19', 'Alpine 3.19 main', true),
  'alpine-3.19-community': source('apk', 'alpine3.19', 'Alpine 3.19 community', true),
  'alpine-3.20': source('apk', 'alpine3.20', 'Alpine 3.20 main', true),
  'alpine-3.20-community': source('apk', 'alpine3.20', 'Alpine 3.20 community', true),
  'alpine-3.21': source('apk', 'alpine3.21', 'Alpine 3.21 main', true),
  'alpine-3.21-community': source('apk', 'alpine3.21', 'Alpine 3.21 community', true),
} as const satisfies Record<string, BuiltInSource>

export type BuiltInSourceKey = keyof typeof BUILT_IN_SOURCES

export const BUILT_IN_SOURCE_KEYS = Object.keys(BUILT_IN_SOURCES) as BuiltInSourceKey[]
