// The apk format as the rest of the program sees it.
import type { PackageFormat } from '../format.ts'
import { distributions } from './distributions.ts'
import { apkFilename, apkMembers, readApk, type ApkRecord } from './read.ts'
import { recognizes } from './recognize.ts'
import { INDEX_FILE, packagePath, renderEntry, renderIndex, STREAM } from './render.ts'
import { isValidInApk2, versions } from './versions.ts'

export const apkFormat: PackageFormat<ApkRecord> = {
  id: 'apk',
  label: 'Alpine package',
  suffixes: ['.apk'],
  mediaType: 'application/vnd.alpine.package',
  purlType: 'apk',
  neutralArchs: ['noarch'],
  distributions,
  versions,
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
  packagePath,
  entry: renderEntry,
  index: renderIndex,
}
