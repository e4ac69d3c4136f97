// The deb format as the rest of the program sees it.
import type { PackageFormat } from '../format.ts'
import { distributions } from './distributions.ts'
import { debFilename, debMembers, readDeb, type DebRecord } from './read.ts'
import { binaryDirectory, packagePath, renderEntry, renderIndex } from './render.ts'
import { versions } from './versions.ts'

// A deb is an ar archive whose first member is `debian-binary` (deb(5)); other ar archives are libraries.
const HEAD = /^!<arch>\ndebian-binary[ /]/

export const debFormat: PackageFormat<DebRecord> = {
  id: 'deb',
  label: 'Debian package',
  suffixes: ['.deb'],
  mediaType: 'application/vnd.debian.binary-package',
  purlType: 'deb',
  neutralArchs: ['all'],
  distributions,
  versions,
  streams: [{ key: 'packages', xz: true, plainDigest: true }],

  recognizes: (head) => HEAD.test(Buffer.from(head.subarray(0, 24)).toString('latin1')),
  read: readDeb,
  members: debMembers,
  filename: debFilename,

  layout: (distribution) => ({
    link: `dists/${distribution.codename}`,
    linkTarget: '',
    packages: null,
    packagesName: 'pool',
    byHashIn: [binaryDirectory(distribution), 'main'],
  }),
  packagePath,
  entry: renderEntry,
  index: renderIndex,

  contents: {
    path: (distribution) => `${distribution.component ?? 'main'}/Contents-${distribution.arch}.gz`,
    *lines({ files, section, name }) {
      const qualified = section ? `${section}/${name}` : name
      for (const file of files) yield `${file}\t${qualified}`
    },
  },
}
