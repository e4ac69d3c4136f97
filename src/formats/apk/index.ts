// The apk format.
import { canary } from './canary.ts'
import type { PackageFormat } from '../format.ts'
import { distributions, presets } from './distributions.ts'
import { apkFilename, apkMembers, readApk, type ApkRecord } from './read.ts'
import { recognizes } from './recognize.ts'
import { INDEX_FILE, packagePath, renderEntry, renderIndex, STREAM } from './render.ts'
import { setup } from './setup.ts'
import { isValidInApk2, versions } from './versions.ts'

export const apkFormat: PackageFormat<ApkRecord> = {
  id: 'apk',
  label: 'Alpine package',
  suffixes: ['.apk'],
  mediaType: 'application/vnd.alpine.package',
  purl: { type: 'apk', lowerCaseNames: true, epochQualifier: false },
  repoFormat: 'apk',
  neutralArchs: ['noarch'],
  distributions,
  presets,
  // Alpine's armv7 is Debian's armhf; its own armhf is for ARMv6.
  architectures: {
    ...{ amd64: 'x86_64', arm64: 'aarch64', armhf: 'armv7', i386: 'x86' },
    ...{ ppc64el: 'ppc64le', riscv64: 'riscv64', s390x: 's390x' },
  },
  component: 'main',
  packageManagers: ['apk'],
  versions,
  canary,
  streams: [{ key: STREAM, xz: false, plainDigest: false }],

  recognizes,
  read: readApk,
  members: apkMembers,
  filename: apkFilename,

  refusal({ version, provides }, { fullName, packageManagerMajor = 2 }) {
    if (packageManagerMajor > 2) return null
    const tooNew = [version, ...provides.flatMap((one) => one.version ?? [])].find((one) => !isValidInApk2(one))
    if (tooNew === undefined) return null
    return `the version ${tooNew} has a commit hash, which needs apk-tools 3; ${fullName} has apk-tools ${packageManagerMajor}`
  },

  layout({ codename, component, arch }) {
    const directory = `apk/${codename}/${component ?? 'main'}/${arch}`
    return {
      link: `${directory}/${INDEX_FILE}`,
      linkTarget: INDEX_FILE,
      packages: directory,
      packagesName: '',
      byHashIn: [],
    }
  },
  serving: {
    listener: 'apt',
    key: { prefix: '/apk/svc.rsa.pub', path: 'keys/svc.rsa.pub', roots: ['keys/svc.rsa.pub'] },
    tree: { prefix: '/apk/', path: 'apk', roots: ['apk', '.generations/apk'] },
    // The path is name and version only: a package that is deleted and uploaded again with other bytes has the same
    // path, and a cache that kept the old bytes would fail every client at the checksum of the index.
    immutablePackages: false,
    setup,
  },
  packagePath,
  entry: renderEntry,
  index: renderIndex,
}
