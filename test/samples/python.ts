// Builds wheels and source distributions for tests, valid or hostile, with Node alone.
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { buildTar, type SampleEntry } from './tar.ts'
import { buildZip, type SampleZipEntry } from './zip.ts'

export interface SampleProject {
  name?: string
  version?: string
  /** lines after name and version */
  metadata?: readonly string[]
  description?: string
  files?: readonly SampleZipEntry[]
}

export interface SampleWheel extends SampleProject {
  tags?: readonly string[]
  build?: string
  /** of the directory that describes it, without `.dist-info` */
  stem?: string
  /** replaces files that would be there, or leaves them out */
  replace?: Record<string, string | null>
  /** entries after RECORD, which does not list them */
  unrecorded?: readonly SampleZipEntry[]
}

const coreMetadata = ({ name = 'acme-tool', version = '1.4.2', metadata = [], description = '' }: SampleProject) =>
  ['Metadata-Version: 2.1', `Name: ${name}`, `Version: ${version}`, ...metadata, '', description].join('\n')

export function buildWheel(sample: SampleWheel = {}): Buffer {
  const { name = 'acme-tool', version = '1.4.2', tags = ['py3-none-any'], build, replace = {} } = sample
  const stem = sample.stem ?? `${name.replace(/[-.]/g, '_')}-${version}`
  const wheel = ['Wheel-Version: 1.0', 'Generator: sample', 'Root-Is-Purelib: true']
  const entries: SampleZipEntry[] = [
    ...(sample.files ?? [{ name: 'acme_tool/__init__.py', content: `VERSION = "${version}"\n` }]),
    { name: `${stem}.dist-info/METADATA`, content: coreMetadata(sample) },
    {
      name: `${stem}.dist-info/WHEEL`,
      content: [...wheel, ...tags.map((tag) => `Tag: ${tag}`), ...(build ? [`Build: ${build}`] : []), ''].join('\n'),
    },
  ].flatMap((entry) => {
    const other = replace[entry.name.split('/').at(-1)!]
    return other === null ? [] : [{ ...entry, content: other ?? entry.content }]
  })
  const record = `${stem}.dist-info/RECORD`
  const lines = entries.map(
    ({ name: path, content }) => `${path},sha256=${digestOf(content)},${Buffer.from(content).length}`,
  )
  const listed = replace['RECORD'] === undefined ? [...lines, `${record},,`, ''].join('\n') : replace['RECORD']
  return buildZip([
    ...entries,
    ...(listed === null ? [] : [{ name: record, content: listed }]),
    ...(sample.unrecorded ?? []),
  ])
}

const digestOf = (content: Uint8Array | string) => createHash('sha256').update(content).digest('base64url')

/** @param more entries after the ordinary ones */
export function buildSdist(sample: SampleProject = {}, more: readonly SampleEntry[] = []): Buffer {
  const { name = 'acme-tool', version = '1.4.2' } = sample
  const root = `${name.replace(/[-.]/g, '_')}-${version}`
  return gzipSync(
    buildTar([
      { name: `${root}/` },
      { name: `${root}/PKG-INFO`, content: coreMetadata(sample) },
      { name: `${root}/pyproject.toml`, content: '[build-system]\nrequires = []\n' },
      ...more,
    ]),
  )
}
