// A package as input for trivy: a document with an operating system, and the source package in properties. Pure.
import type { Distribution, PackageFacts } from '../../../domain/package.ts'
import { formatPackageUrl, splitEpoch, splitScannerDistro } from '../../../domain/purl.ts'
import { packageDocument, sourceOf } from '../external/package-document.ts'

interface System {
  /** trivy's name of the system */
  family: string
  /** where its advisories are in trivy's database, by the names that trivy-db gives (pkg/vulnsrc/bucket) */
  bucket(release: string): string
}

const named = (family: string): System => ({ family, bucket: (release) => `${family} ${release}` })

/** Our systems as trivy knows them; trivy has no advisories for any other. */
const SYSTEMS: Readonly<Record<string, System>> = {
  ubuntu: named('ubuntu'),
  debian: named('debian'),
  alpine: named('alpine'),
  almalinux: named('alma'),
  rockylinux: named('rocky'),
  // trivy keeps Red Hat's advisories of all releases in one bucket.
  centos: { family: 'centos', bucket: () => 'Red Hat' },
  oraclelinux: { family: 'oracle', bucket: (release) => `Oracle Linux ${release}` },
  'opensuse/leap': { family: 'opensuse-leap', bucket: (release) => `openSUSE Leap ${release}` },
  'opensuse/tumbleweed': { family: 'opensuse-tumbleweed', bucket: () => 'openSUSE Tumbleweed' },
}

export interface TrivyDistro {
  family: string
  version: string
  /** null when trivy never has advisories for it */
  bucket: string | null
}

export function trivyDistro(distribution: Distribution): TrivyDistro {
  const { system, release } = splitScannerDistro(distribution)
  const known = SYSTEMS[system]
  return { family: known?.family ?? system, version: release, bucket: known?.bucket(release) ?? null }
}

export function trivyDocument(facts: PackageFacts, distribution: Distribution): string {
  const { family, version } = trivyDistro(distribution)
  const { epoch, rest } = facts.format === 'rpm' ? splitEpoch(facts.version) : { epoch: null, rest: facts.version }
  // Rocky's and Oracle's advisories name architectures: a package without one would match none.
  const arch = facts.arch || (distribution.architectures[0] ?? '')
  const purl = formatPackageUrl({
    type: facts.format,
    namespace: family,
    name: facts.name,
    version: rest,
    qualifiers: { arch, epoch, distro: `${family}-${version}` },
  })
  return packageDocument(
    { purl, name: facts.name, version: facts.version, properties: sourceProperties(facts) },
    { name: family, version, properties: { 'aquasecurity:trivy:Type': family, 'aquasecurity:trivy:Class': 'os-pkgs' } },
  )
}

/** Families whose module packages trivy matches by their stream, which a package file need not name. */
const STREAMS = ['alma', 'rocky', 'centos']

/** Whether the release marks the package as part of a module of RHEL 8 or 9: `1.module+el8.9.0+1234+abcd`. */
export function isOfStream(facts: PackageFacts, { family }: TrivyDistro): boolean {
  return STREAMS.includes(family) && /\.module[_+]el\d/.test(facts.version)
}

/** The source's version in the parts that trivy stores: epoch, version, and the release after the last hyphen. */
function sourceProperties(facts: PackageFacts): Record<string, string> {
  const source = sourceOf(facts) ?? { name: facts.name, version: facts.version }
  const { epoch, rest } = splitEpoch(source.version)
  const dash = facts.format === 'apk' ? -1 : rest.lastIndexOf('-')
  return {
    'aquasecurity:trivy:PkgType': facts.format,
    'aquasecurity:trivy:SrcName': source.name,
    'aquasecurity:trivy:SrcVersion': dash < 0 ? rest : rest.slice(0, dash),
    ...(dash < 0 ? {} : { 'aquasecurity:trivy:SrcRelease': rest.slice(dash + 1) }),
    ...(epoch === null ? {} : { 'aquasecurity:trivy:SrcEpoch': epoch }),
  }
}
