// The apk distributions offered: data, not code.
import type { Distribution } from '../../domain/package.ts'

function distribution(osVersion: string, packageManagerMajor: number): Distribution {
  return {
    codename: `alpine${osVersion}`,
    format: 'apk',
    arch: 'x86_64',
    component: 'main',
    scannerDistro: `alpine:${osVersion}`,
    os: 'Alpine',
    osVersion,
    name: `Alpine ${osVersion}`,
    fullName: `Alpine Linux ${osVersion}`,
    packageManager: 'apk',
    packageManagerMajor,
  }
}

// apk-tools 3 comes with Alpine 3.23.
export const distributions: readonly Distribution[] = ['3.18', '3.19', '3.20', '3.21'].map((version) =>
  distribution(version, 2),
)
