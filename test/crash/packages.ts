// One small package of any format, for suites that treat the three alike.
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { buildRpm } from '../samples/rpm.ts'

/** As REPO_FORMAT names them. */
export type Format = 'apt' | 'rpm' | 'apk'

export interface Sample {
  name: string
  /** as the format writes it: `1.0`, `1.0-1`, `1.0-r0` */
  version: string
  arch?: string
  /** the one file inside; other content makes other bytes of the same name */
  content?: string
}

const ARCHS: Record<Format, string> = { apt: 'amd64', rpm: 'x86_64', apk: 'x86_64' }

/** What the record of a sample is listed under. */
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
