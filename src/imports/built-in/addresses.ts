// Where the built-in sources are: the public archives of the distributions, and the keys that sign them.
import type { BuiltInSourceKey } from '../../domain/sources.ts'
import { almalinux } from './keys/almalinux.ts'
import { alpine } from './keys/alpine.ts'
import { centos } from './keys/centos.ts'
import { debian } from './keys/debian.ts'
import { fedora } from './keys/fedora.ts'
import type { BuiltInKey } from './keys/key.ts'
import { opensuse } from './keys/opensuse.ts'
import { oracle } from './keys/oracle.ts'
import { rocky } from './keys/rocky.ts'
import { ubuntu } from './keys/ubuntu.ts'

export interface Address {
  /** `{arch}` is replaced by the first architecture of the distribution */
  url: string
  /** for distributions without amd64, where their packages are elsewhere */
  portsUrl?: string
  mirrors?: 'metalink'
  /** apt */
  suite?: string
  components?: readonly string[]
  keys: readonly BuiltInKey[]
}

const ubuntuSuite = (suite: string, host = 'archive'): Address => ({
  url: `http://${host}.ubuntu.com/ubuntu`,
  // https://wiki.ubuntu.com/Archive: amd64 and i386 are in the archive, everything else is in ports.
  portsUrl: 'http://ports.ubuntu.com/ubuntu-ports',
  suite,
  components: ['main', 'universe'],
  keys: ubuntu,
})
const repository = (keys: readonly BuiltInKey[], url: string): Address => ({ url, keys })

const alma = (path: string) => repository(almalinux, `https://repo.almalinux.org/almalinux/${path}/{arch}/os`)
const rockyLinux = (path: string) => repository(rocky, `https://dl.rockylinux.org/pub/rocky/${path}/{arch}/os`)
const stream = (path: string) => repository(centos, `https://mirror.stream.centos.org/9-stream/${path}/{arch}/os`)
const oracle8 = (path: string) => repository(oracle, `https://yum.oracle.com/repo/OracleLinux/OL8/${path}/{arch}`)
const suse = (path: string) => repository(opensuse, `https://download.opensuse.org/${path}`)
const alpineLinux = (path: string) => repository(alpine, `https://dl-cdn.alpinelinux.org/alpine/${path}`)
/** Fedora does not sign its indexes. Its metalink, fetched over TLS from another host than the mirror, has their digests. */
const fedora42 = (repo: string): Address => ({
  url: `https://mirrors.fedoraproject.org/metalink?repo=${repo}&arch={arch}`,
  mirrors: 'metalink',
  keys: fedora,
})

// prettier-ignore
export const ADDRESSES: Record<BuiltInSourceKey, Address> = {
  'ubuntu-jammy': ubuntuSuite('jammy'),
  'ubuntu-jammy-updates': ubuntuSuite('jammy-updates'),
  'ubuntu-noble': ubuntuSuite('noble'),
  'ubuntu-focal': ubuntuSuite('focal'),
  'debian-bookworm': { url: 'https://deb.debian.org/debian', suite: 'bookworm', components: ['main'], keys: debian },
  'ubuntu-jammy-security': ubuntuSuite('jammy-security', 'security'),
  'ubuntu-noble-security': ubuntuSuite('noble-security', 'security'),
  'ubuntu-focal-security': ubuntuSuite('focal-security', 'security'),
  'debian-bookworm-security': { url: 'https://deb.debian.org/debian-security', suite: 'bookworm-security', components: ['main'], keys: debian },

  'almalinux-8': alma('8/BaseOS'),
  'almalinux-8-appstream': alma('8/AppStream'),
  'almalinux-9': alma('9/BaseOS'),
  'almalinux-9-appstream': alma('9/AppStream'),
  'rocky-8': rockyLinux('8/BaseOS'),
  'rocky-8-appstream': rockyLinux('8/AppStream'),
  'rocky-9': rockyLinux('9/BaseOS'),
  'rocky-9-appstream': rockyLinux('9/AppStream'),
  'centos-stream-9': stream('BaseOS'),
  'centos-stream-9-appstream': stream('AppStream'),
  'oraclelinux-8': oracle8('baseos/latest'),
  'oraclelinux-8-appstream': oracle8('appstream'),
  fedora: fedora42('fedora-42'),
  'fedora-updates': fedora42('updates-released-f42'),
  'opensuse-leap-15.6': suse('distribution/leap/15.6/repo/oss'),
  'opensuse-leap-15.6-update': suse('update/leap/15.6/oss'),
  'opensuse-tumbleweed': suse('tumbleweed/repo/oss'),

  'alpine-3.18': alpineLinux('v3.18/main'),
  'alpine-3.18-community': alpineLinux('v3.18/community'),
  'alpine-3.19': alpineLinux('v3.19/main'),
  'alpine-3.19-community': alpineLinux('v3.19/community'),
  'alpine-3.20': alpineLinux('v3.20/main'),
  'alpine-3.20-community': alpineLinux('v3.20/community'),
  'alpine-3.21': alpineLinux('v3.21/main'),
  'alpine-3.21-community': alpineLinux('v3.21/community'),
}
