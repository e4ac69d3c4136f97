// The rpm distributions offered: data, not code.
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
    arch: 'x86_64',
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
