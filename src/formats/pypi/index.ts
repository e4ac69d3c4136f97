// The format of Python packages: wheels and source distributions.
import { comparePep440, normalPep440 } from '../../domain/versions/pep440.ts'
import type { RegistryFormat } from '../registry-format.ts'
import { pypiAttestations } from './attestations.ts'
import { documents } from './documents.ts'
import { canonicalName, fileAt, filenameOf } from './names.ts'
import { pypiMembers, readPypi, recognizes } from './read.ts'
import type { PypiRecord } from './record.ts'
import { setup } from './setup.ts'
import { pypiUpstream } from './upstream.ts'

export const pypiFormat: RegistryFormat<PypiRecord> = {
  id: 'pypi',
  label: 'Python package',
  suffixes: ['.whl', '.tar.gz', '.zip'],
  mediaType: 'application/octet-stream',
  purl: { type: 'pypi', lowerCaseNames: true, epochQualifier: false },
  repoFormat: 'pypi',
  isLibrary: true,
  advisories: 'PyPI',
  neutralArchs: [],
  versions: { isValid: (version) => normalPep440(version) === version, compare: comparePep440 },
  installation: { excludes: [] },

  recognizes,
  read: readPypi,
  members: pypiMembers,
  filename: ({ name, version, record }) => filenameOf(name, version, record.file),
  canonicalName,
  fileAt,
  documents,
  attestations: pypiAttestations,
  upstream: pypiUpstream,
  setup,
  packagePaths: () => [],
  entry: () => ({}),
}
