// Builds a small package of any format.
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { buildRpm } from '../samples/rpm.ts'

/** The names in REPO_FORMAT. */
export type Format = 'apt' | 'rpm' | 'apk'

export interface Sample {
  name: string
  /** in the format's own syntax: `1.0`, `1.0-1`, `1.0-r0` */
  version: string
  arch?: string
  /** content of its only file; different content makes different bytes with the same name and version */
  content?: string
}

const ARCHS: Record<Format, string> = { apt: 'amd64', rpm: 'x86_64', apk: 'x86_64' }

/** The architecture in the record of a sample. */
export function archOf(format: Format, { arch }: Pick<Sample, 'arch'>): string {
  return arch ?? ARCHS[format]
}

export async function buildPackage(format: Format, sample: Sample): Promise<Buffer> {
  const { name, version, content = `This is ${name}.\n` } = sample
  const arch = archOf(format, sample)
  const path = `usr/share/${name}/readme`
  if (format === 'apt') return buildDeb({ name, version, arch, files: { [path]: content } })
  if (format === 'apk') return buildApk({ name, version, arch, files: { [path]: content } })
  const [upstream, release] = version.split('-') as [string, string]
  return buildRpm({ name, version: upstream, release, arch, files: [{ path: `/${path}`, content }] })
}
