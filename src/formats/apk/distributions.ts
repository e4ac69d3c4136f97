// The apk distributions: those offered by default, and the presets that a deployment may choose. Data, not code.
import type { Distribution } from '../../domain/package.ts'

function distribution(osVersion: string, packageManagerMajor: number, codename = `alpine${osVersion}`): Distribution {
  return {
    codename,
    format: 'apk',
    architectures: ['x86_64'],
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

export const presets: readonly Distribution[] = [
  distribution('3.22', 2),
  distribution('3.23', 3),
  distribution('edge', 3, 'alpine-edge'),
]
