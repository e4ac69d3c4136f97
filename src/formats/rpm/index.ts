// The rpm format.
import { canary } from './canary.ts'
import type { Distribution } from '../../domain/package.ts'
import type { PackageFormat } from '../format.ts'
import { catalog } from './catalog.ts'
import { readClaims } from './claims.ts'
import { distributions, presets } from './distributions.ts'
import { LEAD_MAGIC, NEWEST_FORMAT } from './open.ts'
import { readRpm, rpmFilename, rpmMembers, type RpmRecord } from './read.ts'
import { packagePath, PACKAGES, renderEntry, renderIndex, REPODATA, ofEarlierGeneration } from './render.ts'
import { parseTerm } from './rich-dependencies.ts'
import { setup } from './setup.ts'
import { signRpm } from './sign.ts'
import { fixesOf, renderUpdateinfo, updateinfoPath } from './updateinfo.ts'
import { isSignedWhole, verifySignature } from './verify.ts'
import { versions } from './versions.ts'

/**
 * The value of `$basearch` in dnf and zypper, if it is not the architecture of the packages. `$arch` does not help: an ARMv7
 * with NEON is `armv7hnl` there (libdnf, hy-util.cpp).
 */
const BASE_ARCHITECTURES: Readonly<Record<string, string>> = { i686: 'i386', armv7hl: 'armhfp' }

/** dnf installs a package with a modularity label only if modules.yaml names it, or with `module_hotfixes=1`. */
const MODULES = 'modules are not carried, and dnf refuses such a package without them'
/** zypper knows no modules. */
const hasModules = ({ packageManager }: Distribution) => packageManager !== 'zypper'

export const rpmFormat: PackageFormat<RpmRecord> = {
  id: 'rpm',
  label: 'RPM package',
  suffixes: ['.rpm'],
  mediaType: 'application/x-rpm',
  purl: {
    type: 'rpm',
    lowerCaseNames: false,
    epochQualifier: true,
    systems: {
      rockylinux: { vendor: 'rocky', id: 'rocky' },
      oraclelinux: { vendor: 'oracle', id: 'ol' },
      amazonlinux: { vendor: 'amzn', id: 'amzn' },
      sles: { vendor: 'suse', id: 'sles' },
      'opensuse/leap': { vendor: 'opensuse', id: 'opensuse-leap' },
      'opensuse/tumbleweed': { vendor: 'opensuse', id: 'opensuse-tumbleweed' },
    },
  },
  repoFormat: 'rpm',
  neutralArchs: ['noarch'],
  // dnf's base architecture i386 includes all of these (libdnf, hy-util.cpp); see also buildarch_compat in rpm's rpmrc.in.
  olderArchs: { i686: ['i586', 'i486', 'i386'] },
  distributions,
  presets,
  architectures: {
    ...{ amd64: 'x86_64', arm64: 'aarch64', armhf: 'armv7hl', i386: 'i686' },
    ...{ ppc64el: 'ppc64le', riscv64: 'riscv64', s390x: 's390x' },
    ...{ ppc64: 'ppc64', loong64: 'loongarch64' },
  },
  component: null,
  hasReleaseFields: false,
  packageManagers: ['dnf', 'zypper'],
  versions,
  canary,
  streams: [
    { key: 'primary', xz: false, plainDigest: false },
    { key: 'filelists', xz: false, plainDigest: false },
    { key: 'other', xz: false, plainDigest: false },
  ],

  recognizes: (head) => LEAD_MAGIC.equals(head.subarray(0, LEAD_MAGIC.length)),
  read: readRpm,
  members: rpmMembers,
  filename: rpmFilename,

  refusal({ record: { rpmFormat = 4, modularityLabel } }, distribution) {
    const { fullName, packageFormatMajor = NEWEST_FORMAT } = distribution
    if (modularityLabel && hasModules(distribution))
      return `the package is of the module ${modularityLabel}; ${MODULES}`
    if (rpmFormat <= packageFormatMajor) return null
    return `the package has the rpm format version ${rpmFormat}, which needs rpm 4.14; ${fullName} takes versions up to ${packageFormatMajor}`
  },

  // Builders of modules put the word into the release; the file itself decides later.
  refusalListed: ({ version }, distribution) =>
    /-[^-]*\.module[+_][^-]*$/.test(version) && hasModules(distribution)
      ? `the package is of a module, as its release says; ${MODULES}`
      : null,

  layout: (distribution) => ({
    link: `rpm/${distribution.codename}`,
    standing: [],
    packages: null,
    packagesName: PACKAGES,
    packagesIn: distribution.architectures.map((arch) => `${arch}/${PACKAGES}`),
    byHashIn: distribution.architectures.map((arch) => `${arch}/${REPODATA}`),
    aliases: distribution.architectures.flatMap((target) => {
      const path = BASE_ARCHITECTURES[target]
      return path === undefined ? [] : [{ path, target }]
    }),
  }),
  serving: {
    listener: 'rpm',
    // Includes the keys of import sources that signed packages, because clients check each package.
    key: { prefix: '/repos/gpg.key', path: 'keys/packages.key', roots: ['keys/packages.key'] },
    tree: { prefix: '/repos/', path: 'rpm', roots: ['rpm', '.generations/rpm'] },
    immutablePackages: true,
    signedPair: { index: 'repomd.xml', signature: 'repomd.xml.asc', key: 'repomd.xml.key' },
    substitute: (path) => ofEarlierGeneration(path),
    setup,
  },
  packagePaths: (file) => [packagePath(file)],
  entry: renderEntry,
  independentArchitectures: true,
  index: renderIndex,
  readClaims,
  installation: {
    excludes: ['conflicts'],
    excludesByName: ['obsoletes'],
    whole: { isStrong: (kind) => kind.startsWith('requires'), parse: parseTerm },
  },
  catalog,
  verifySignature,
  sign: signRpm,
  isSignedWhole,
  updateinfo: {
    path: updateinfoPath,
    render(known, offered, { codename }) {
      const fixes = fixesOf(known, offered)
      return fixes.length > 0 ? renderUpdateinfo(fixes, codename) : null
    },
  },
}
