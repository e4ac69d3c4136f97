// The deb format.
import { canary } from './canary.ts'
import type { PackageFormat } from '../format.ts'
import { catalog } from './catalog.ts'
import { readClaims } from './claims.ts'
import { distributions, presets } from './distributions.ts'
import { debFilename, debMembers, readDeb, type DebRecord } from './read.ts'
import { binaryDirectory, packagePath, renderEntry, renderIndex } from './render.ts'
import { setup } from './setup.ts'
import { versions } from './versions.ts'

// A deb is an ar archive whose first member is `debian-binary` (deb(5)); other ar archives are libraries.
const HEAD = /^!<arch>\ndebian-binary[ /]/

export const debFormat: PackageFormat<DebRecord> = {
  id: 'deb',
  label: 'Debian package',
  suffixes: ['.deb'],
  mediaType: 'application/vnd.debian.binary-package',
  purl: { type: 'deb', lowerCaseNames: true, epochQualifier: false },
  repoFormat: 'apt',
  neutralArchs: ['all'],
  distributions,
  presets,
  architectures: {
    ...{ amd64: 'amd64', arm64: 'arm64', armhf: 'armhf', i386: 'i386' },
    ...{ ppc64el: 'ppc64el', riscv64: 'riscv64', s390x: 's390x' },
    ...{ armel: 'armel', mips64el: 'mips64el', mipsel: 'mipsel', loong64: 'loong64' },
    ...{ alpha: 'alpha', armeb: 'armeb', hppa: 'hppa', ia64: 'ia64', m68k: 'm68k', powerpc: 'powerpc' },
    ...{ ppc64: 'ppc64', sh4: 'sh4', sparc64: 'sparc64', x32: 'x32' },
  },
  component: 'main',
  hasReleaseFields: true,
  packageManagers: ['apt'],
  versions,
  canary,
  streams: [{ key: 'packages', xz: true, plainDigest: true }],

  recognizes: (head) => HEAD.test(Buffer.from(head.subarray(0, 24)).toString('latin1')),
  read: readDeb,
  members: debMembers,
  filename: debFilename,

  refusal({ section }) {
    // apt would offer udebs to installed systems; the installer reads indexes of its own.
    if (!/(^|\/)debian-installer$/.test(section ?? '')) return null
    return 'the package is a udeb, which only the Debian installer can use; repositories for the installer are not made'
  },

  layout: (distribution) => ({
    link: `dists/${distribution.codename}`,
    // Aliases point to the link of the codename, so that both change at the same moment.
    standing: (distribution.aliases ?? []).map((alias) => ({ path: `dists/${alias}`, target: '' })),
    packages: null,
    packagesName: 'pool',
    packagesIn: ['pool'],
    byHashIn: [
      ...distribution.architectures.map((arch) => binaryDirectory(distribution, arch)),
      distribution.component ?? 'main',
    ],
  }),
  serving: {
    listener: 'apt',
    key: { prefix: '/repos/gpg.key', path: 'keys/gpg.key', roots: ['keys/gpg.key'] },
    tree: { prefix: '/repos/dists/', path: 'dists', roots: ['dists', '.generations/deb'] },
    textFiles: /^(?:InRelease|Release|Packages|Contents-[\w-]+)$/,
    immutablePackages: true,
    // A generation may have only Packages.gz, but its Release lists the plain file too.
    substitute: (path) => (path.endsWith('/Packages') ? { path: `${path}.gz`, gunzip: true } : null),
    setup,
  },
  packagePaths: (file) => [packagePath(file)],
  entry: renderEntry,
  independentArchitectures: false,
  index: renderIndex,
  readClaims,
  // Debian Policy 7.3 and 7.4. With Breaks, both packages may be unpacked at the same time, which makes no difference in the end.
  installation: { excludes: ['conflicts', 'breaks'] },
  catalog,

  contents: {
    path: (distribution, arch) => `${distribution.component ?? 'main'}/Contents-${arch}.gz`,
    *lines({ files, section, name }) {
      const qualified = section ? `${section}/${name}` : name
      for (const file of files) yield `${file}\t${qualified}`
    },
  },
}
