// The deb distributions offered: data, not code.
import type { Distribution } from '../../domain/package.ts'

function distribution(codename: string, os: 'Ubuntu' | 'Debian', osVersion: string, title: string): Distribution {
  return {
    codename,
    format: 'deb',
    arch: 'amd64',
    component: 'main',
    scannerDistro: `${os.toLowerCase()}:${osVersion}`,
    os,
    osVersion,
    name: `${os} ${osVersion}`,
    fullName: `${os} ${title}`,
    packageManager: 'apt',
  }
}

export const distributions: readonly Distribution[] = [
  distribution('focal', 'Ubuntu', '20.04', '20.04 LTS (Focal Fossa)'),
  distribution('jammy', 'Ubuntu', '22.04', '22.04 LTS (Jammy Jellyfish)'),
  distribution('noble', 'Ubuntu', '24.04', '24.04 LTS (Noble Numbat)'),
  distribution('bookworm', 'Debian', '12', 'GNU/Linux 12 (bookworm)'),
]
