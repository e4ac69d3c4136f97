// The npm format: libraries for JavaScript, in repositories.
import type { RegistryFormat } from '../registry-format.ts'
import { npmAttestations } from './attestations.ts'
import { documents } from './documents.ts'
import { canonicalName, fileAt } from './names.ts'
import { NPM_ARCH, npmFilename, npmMembers, readNpm, type NpmRecord } from './read.ts'
import { setup } from './setup.ts'
import { npmUpstream } from './upstream.ts'
import { versions } from './versions.ts'

export const npmFormat: RegistryFormat<NpmRecord> = {
  id: 'npm',
  label: 'npm package',
  suffixes: ['.tgz'],
  mediaType: 'application/octet-stream',
  purl: { type: 'npm', lowerCaseNames: false, epochQualifier: false },
  isLibrary: true,
  advisories: 'npm',
  repoFormat: 'npm',
  neutralArchs: [NPM_ARCH],
  versions,
  installation: { excludes: [] },
  recognizes: (head) => head[0] === 0x1f && head[1] === 0x8b,
  read: readNpm,
  members: npmMembers,
  filename: npmFilename,
  canonicalName,
  fileAt,
  documents,
  attestations: npmAttestations,
  upstream: npmUpstream,
  setup,
  // What clients read is made from all versions of a name, by `documents`.
  packagePaths: () => [],
  entry: () => ({}),
}
