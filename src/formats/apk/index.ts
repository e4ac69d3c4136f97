// The apk format.
import { canary } from './canary.ts'
import type { PackageFormat } from '../format.ts'
import { catalog } from './catalog.ts'
import { readClaims } from './claims.ts'
import { distributions, presets } from './distributions.ts'
import { apkFilename, apkMembers, readApk, type ApkRecord } from './read.ts'
import { recognizes } from './recognize.ts'
import { entryIn, INDEX_FILE, NOARCH, packagePaths, renderEntry, renderIndex, STREAM } from './render.ts'
import { setup } from './setup.ts'
import { isValidInApk2, versions } from './versions.ts'

export const apkFormat: PackageFormat<ApkRecord> = {
  id: 'apk',
  label: 'Alpine package',
  suffixes: ['.apk'],
  mediaType: 'application/vnd.alpine.package',
  purl: { type: 'apk', lowerCaseNames: true, epochQualifier: false },
  repoFormat: 'apk',
  neutralArchs: [NOARCH],
  distributions,
  presets,
  // Alpine's armv7 is Debian's armhf; Alpine's own armhf is for ARMv6, for which Debian has no name.
  architectures: {
    ...{ amd64: 'x86_64', arm64: 'aarch64', armhf: 'armv7', i386: 'x86' },
    ...{ ppc64el: 'ppc64le', riscv64: 'riscv64', s390x: 's390x' },
    ...{ armv6: 'armhf', loong64: 'loongarch64' },
  },
  component: 'main',
  hasReleaseFields: false,
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

  // The index of each architecture is beside its packages, so the one link for all architectures is elsewhere.
  layout({ codename, component, architectures }) {
    const directory = `apk/${codename}/${component ?? 'main'}`
    return {
      link: `.generations/apk/${codename}/live`,
      standing: architectures.map((arch) => ({
        path: `${directory}/${arch}/${INDEX_FILE}`,
        target: `${arch}/${INDEX_FILE}`,
      })),
      packages: directory,
      packagesName: '',
      packagesIn: [],
      byHashIn: [],
    }
  },
  serving: {
    listener: 'apt',
    key: { prefix: '/apk/svc.rsa.pub', path: 'keys/svc.rsa.pub', roots: ['keys/svc.rsa.pub'] },
    tree: { prefix: '/apk/', path: 'apk', roots: ['apk', '.generations/apk'] },
    // The path has only name and version: a package that is deleted and uploaded again with other bytes keeps its path, and
    // with old bytes from a cache every client would fail at the checksum of the index.
    immutablePackages: false,
    setup,
  },
  packagePaths,
  entry: renderEntry,
  entryIn,
  independentArchitectures: true,
  index: renderIndex,
  readClaims,
  installation: { excludes: ['conflict'], exclusiveProvides: true },
  catalog,
}
