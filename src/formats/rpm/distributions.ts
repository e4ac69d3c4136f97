// The rpm distributions: those offered by default, and the presets that a deployment may choose. Data, not code.
import type { Distribution } from '../../domain/package.ts'

function distribution(
  codename: string,
  scannerDistro: string,
  os: string,
  osVersion: string,
  packageManager: 'dnf' | 'zypper',
  fullName: string,
): Distribution {
  return {
    codename,
    format: 'rpm',
    architectures: ['x86_64'],
    component: null,
    scannerDistro,
    os,
    osVersion,
    name: `${os} ${osVersion}`,
    fullName,
    packageManager,
  }
}

export const distributions: readonly Distribution[] = [
  distribution('almalinux8', 'almalinux:8', 'AlmaLinux', '8', 'dnf', 'AlmaLinux OS 8'),
  distribution('almalinux9', 'almalinux:9', 'AlmaLinux', '9', 'dnf', 'AlmaLinux OS 9'),
  distribution('rocky8', 'rockylinux:8', 'Rocky Linux', '8', 'dnf', 'Rocky Linux 8'),
  distribution('rocky9', 'rockylinux:9', 'Rocky Linux', '9', 'dnf', 'Rocky Linux 9'),
  distribution('centos-stream9', 'centos:9', 'CentOS Stream', '9', 'dnf', 'CentOS Stream 9'),
  distribution('oraclelinux8', 'oraclelinux:8', 'Oracle Linux', '8', 'dnf', 'Oracle Linux 8'),
  distribution('fedora', 'fedora:42', 'Fedora', '42', 'dnf', 'Fedora Linux 42'),
  distribution('opensuse-leap-15.6', 'opensuse/leap:15.6', 'openSUSE Leap', '15.6', 'zypper', 'openSUSE Leap 15.6'),
  distribution(
    'opensuse-tumbleweed',
    'opensuse/tumbleweed:latest',
    'openSUSE Tumbleweed',
    'latest',
    'zypper',
    'openSUSE Tumbleweed',
  ),
]

export const presets: readonly Distribution[] = [
  distribution('almalinux10', 'almalinux:10', 'AlmaLinux', '10', 'dnf', 'AlmaLinux OS 10'),
  distribution('rocky10', 'rockylinux:10', 'Rocky Linux', '10', 'dnf', 'Rocky Linux 10'),
  distribution('centos-stream10', 'centos:10', 'CentOS Stream', '10', 'dnf', 'CentOS Stream 10'),
  distribution('oraclelinux9', 'oraclelinux:9', 'Oracle Linux', '9', 'dnf', 'Oracle Linux 9'),
  distribution('oraclelinux10', 'oraclelinux:10', 'Oracle Linux', '10', 'dnf', 'Oracle Linux 10'),
  distribution('fedora43', 'fedora:43', 'Fedora', '43', 'dnf', 'Fedora Linux 43'),
  distribution('fedora44', 'fedora:44', 'Fedora', '44', 'dnf', 'Fedora Linux 44'),
  distribution('amazonlinux2023', 'amazonlinux:2023', 'Amazon Linux', '2023', 'dnf', 'Amazon Linux 2023'),
  distribution('opensuse-leap-16.0', 'opensuse/leap:16.0', 'openSUSE Leap', '16.0', 'zypper', 'openSUSE Leap 16.0'),
  // Scanners know only service packs: for `sles:15` they find nothing.
  distribution('sles15', 'sles:15.7', 'SLES', '15.7', 'zypper', 'SUSE Linux Enterprise Server 15 SP7'),
]
