// Builds .deb files for tests, valid or hostile, with Node alone.
import { buildAr } from './ar.ts'
import { compressSample, type SampleCompression } from './compress.ts'
import { buildTar, type SampleEntry } from './tar.ts'

export interface SampleDeb {
  name?: string
  version?: string
  arch?: string
  /** additional or replaced control fields; null omits a field */
  fields?: Record<string, string | null>
  /** path to content; default one small file named after the package */
  files?: Record<string, string | Uint8Array>
  /** maintainer scripts and other members of control.tar */
  scripts?: Record<string, string>
  compression?: SampleCompression
}

export async function buildDeb(sample: SampleDeb = {}): Promise<Buffer<ArrayBuffer>> {
  const { compression = 'gz', scripts = {} } = sample
  const name = sample.name ?? 'sample'
  const files = sample.files ?? { [`usr/share/${name}/readme`]: `This is ${name}.\n` }
  return assembleDeb({
    control: await compressSample(
      buildTar([
        { name: './' },
        { name: './control', content: controlText(sample) },
        ...Object.entries(scripts).map(([script, content]) => ({ name: `./${script}`, content, mode: 0o755 })),
      ]),
      compression,
    ),
    data: await compressSample(buildTar([{ name: './' }, ...withDirectories(files)]), compression),
    compression,
  })
}

/** The control file of the sample. */
export function controlText({
  name = 'sample',
  version = '1.0-1',
  arch = 'amd64',
  fields = {},
}: SampleDeb = {}): string {
  const all: Record<string, string | null> = {
    Package: name,
    Version: version,
    Architecture: arch,
    Maintainer: 'Sample Maintainer <sample@example.org>',
    'Installed-Size': '12',
    Section: 'misc',
    Priority: 'optional',
    Description: 'a sample package\n It exists for tests.\n .\n Nothing else.',
    ...fields,
  }
  return Object.entries(all)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key}: ${value}\n`)
    .join('')
}

/** A deb of given, compressed archives and any other members. */
export function assembleDeb(parts: {
  control: Uint8Array
  data: Uint8Array
  compression?: SampleCompression
  before?: { name: string; content: Uint8Array | string }[]
  after?: { name: string; content: Uint8Array | string }[]
}): Buffer<ArrayBuffer> {
  const suffix = parts.compression === 'none' || !parts.compression ? '' : `.${parts.compression}`
  return buildAr([
    { name: 'debian-binary', content: '2.0\n' },
    ...(parts.before ?? []),
    { name: `control.tar${suffix}`, content: parts.control },
    { name: `data.tar${suffix}`, content: parts.data },
    ...(parts.after ?? []),
  ])
}

function withDirectories(files: Record<string, string | Uint8Array>): SampleEntry[] {
  const entries: SampleEntry[] = []
  const known = new Set<string>()
  for (const [path, content] of Object.entries(files)) {
    const parts = path.split('/')
    for (let depth = 1; depth < parts.length; depth++) {
      const directory = `./${parts.slice(0, depth).join('/')}/`
      if (!known.has(directory)) entries.push({ name: directory })
      known.add(directory)
    }
    entries.push({ name: `./${path}`, content })
  }
  return entries
}
