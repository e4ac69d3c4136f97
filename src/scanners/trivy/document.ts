// A package as trivy matches it: a document with an operating system in it, and the source package among properties. Pure.
import type { Distribution, PackageFacts } from '../../domain/package.ts'
import { packageDocument, packageUrl, sourceOf, splitEpoch, systemOf } from '../external/package-document.ts'

/** Our systems in trivy's words, where they differ. */
const FAMILIES: Readonly<Record<string, string>> = {
  almalinux: 'alma', rockylinux: 'rocky', oraclelinux: 'oracle', 'opensuse/leap': 'opensuse-leap', 'opensuse/tumbleweed': 'opensuse-tumbleweed',
}

export interface TrivyDistro {
  family: string
  version: string
}

/** `alma` and `9`; with a slash between them the value of `--distro`. */
export function trivyDistro(distribution: Distribution): TrivyDistro {
  const { system, release } = systemOf(distribution)
  return { family: FAMILIES[system] ?? system, version: release }
}

export function trivyDocument(facts: PackageFacts, distribution: Distribution): string {
  const { family, version } = trivyDistro(distribution)
  const { epoch, rest } = facts.format === 'rpm' ? splitEpoch(facts.version) : { epoch: null, rest: facts.version }
  const purl = packageUrl(facts.format, family, facts.name, rest, { arch: facts.arch, epoch, distro: `${family}-${version}` })
  return packageDocument({ purl, name: facts.name, version: facts.version, properties: sourceProperties(facts) }, { name: family, version, properties: { 'aquasecurity:trivy:Type': family, 'aquasecurity:trivy:Class': 'os-pkgs' } })
}

/** The source's version in the parts that trivy keeps it in: epoch, version, and the release behind the last hyphen. */
function sourceProperties(facts: PackageFacts): Record<string, string> {
  const source = sourceOf(facts) ?? { name: facts.name, version: facts.version }
  const { epoch, rest } = splitEpoch(source.version)
  const dash = facts.format === 'apk' ? -1 : rest.lastIndexOf('-')
  return {
    'aquasecurity:trivy:PkgType': facts.format,
    'aquasecurity:trivy:SrcName': source.name,
    'aquasecurity:trivy:SrcVersion': dash < 0 ? rest : rest.slice(0, dash),
    ...(dash < 0 ? {} : { 'aquasecurity:trivy:SrcRelease': rest.slice(dash + 1) }),
    ...(epoch === null || epoch === '0' ? {} : { 'aquasecurity:trivy:SrcEpoch': epoch }),
  }
}
