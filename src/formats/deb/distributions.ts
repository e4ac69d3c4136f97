// The deb distributions: those offered by default, and the presets that a deployment may choose. Data, not code.
import type { Distribution } from '../../domain/package.ts'

function distribution(codename: string, os: 'Ubuntu' | 'Debian', osVersion: string, title: string): Distribution {
  return {
    codename,
    format: 'deb',
    architectures: ['amd64'],
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

export const presets: readonly Distribution[] = [
  distribution('resolute', 'Ubuntu', '26.04', '26.04 LTS (Resolute Raccoon)'),
  distribution('bullseye', 'Debian', '11', 'GNU/Linux 11 (bullseye)'),
  distribution('trixie', 'Debian', '13', 'GNU/Linux 13 (trixie)'),
  // Scanners use its other name: https://github.com/anchore/grype-db, "debian:distro:debian:unstable".
  { ...distribution('sid', 'Debian', 'sid', 'GNU/Linux unstable (sid)'), scannerDistro: 'debian:unstable' },
]
