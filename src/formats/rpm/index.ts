// The rpm format.
import { canary } from './canary.ts'
import type { PackageFormat } from '../format.ts'
import { catalog } from './catalog.ts'
import { readClaims } from './claims.ts'
import { distributions, presets } from './distributions.ts'
import { LEAD_MAGIC } from './open.ts'
import { readRpm, rpmFilename, rpmMembers, type RpmRecord } from './read.ts'
import { packagePath, PACKAGES, renderEntry, renderIndex, REPODATA, ofEarlierGeneration } from './render.ts'
import { parseTerm } from './rich-dependencies.ts'
import { setup } from './setup.ts'
import { signRpm } from './sign.ts'
import { fixesOf, renderUpdateinfo, updateinfoPath } from './updateinfo.ts'
import { verifySignature } from './verify.ts'
import { versions } from './versions.ts'

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
  distributions,
  presets,
  architectures: {
    ...{ amd64: 'x86_64', arm64: 'aarch64', armhf: 'armv7hl', i386: 'i686' },
    ...{ ppc64el: 'ppc64le', riscv64: 'riscv64', s390x: 's390x' },
  },
  component: null,
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

  layout: (distribution) => ({
    link: `rpm/${distribution.codename}`,
    standing: [],
    packages: null,
    packagesName: PACKAGES,
    packagesIn: distribution.architectures.map((arch) => `${arch}/${PACKAGES}`),
    byHashIn: distribution.architectures.map((arch) => `${arch}/${REPODATA}`),
  }),
  serving: {
    listener: 'rpm',
    // With the keys of import sources that signed packages: clients check each package.
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
  updateinfo: {
    path: updateinfoPath,
    render(known, offered, { codename }) {
      const fixes = fixesOf(known, offered)
      return fixes.length > 0 ? renderUpdateinfo(fixes, codename) : null
    },
  },
}
