// Renders a package's stanza and the index files of a generation for apt. Pure: the same input gives the same bytes.
import type { Distribution, StoredPackage } from '../../domain/package.ts'
import type { BackgroundIndex, IndexFile, IndexInput, Rendering } from '../format.ts'
import type { DebRecord } from './read.ts'

const EMPTY = new Uint8Array(0)

/** Fields that the index computes from the file; those of the control file are dropped. */
const OURS = new Set(['filename', 'size', 'md5sum', 'sha1', 'sha256', 'sha512', 'status', 'description-md5'])

/** The digest in the path separates files with the same name and different bytes. */
export function packagePath({ filename, sha256 }: { filename: string; sha256: string }): string {
  return `${sha256.slice(0, 2)}/${sha256.slice(2, 18)}/${filename}`
}

/** A stanza of `Packages` (deb822(5); https://wiki.debian.org/DebianRepository/Format#A.22Packages.22_Indices). */
export function renderEntry(pkg: StoredPackage<DebRecord>, distribution: Distribution): Record<string, Uint8Array> {
  const { filename, sizeBytes, digests } = pkg
  const own = pkg.facts.record.fields.filter(([name, value]) => value !== '' && !OURS.has(name.toLowerCase()))
  const path = packagePath({ filename, sha256: digests.sha256 })
  const lines = [
    ...own.map(([name, value]) => (value.startsWith('\n') ? `${name}:${value}` : `${name}: ${value}`)),
    `Filename: dists/${distribution.codename}/pool/${path}`,
    `Size: ${sizeBytes}`,
    `MD5sum: ${digests.md5}`,
    `SHA1: ${digests.sha1}`,
    `SHA256: ${digests.sha256}`,
    `SHA512: ${digests.sha512}`,
  ]
  return { packages: Buffer.from(`${lines.join('\n')}\n\n`) }
}

/** `InRelease` is last, because apt reads it first. */
export async function renderIndex(input: IndexInput): Promise<IndexFile[]> {
  const { distribution, architectures, date, signers } = input
  const compressed: [string, Rendering][] = []
  const plainTexts: Listed[] = []
  for (const arch of architectures) {
    const directory = binaryDirectory(distribution, arch)
    const { plain, gz, xz } = await input.compose('packages', arch, EMPTY, EMPTY)
    compressed.push([`${directory}/Packages.gz`, gz])
    if (xz) compressed.push([`${directory}/Packages.xz`, xz])
    plainTexts.push({ path: `${directory}/Packages`, ...plain })
  }
  const release = renderRelease(distribution, date, [
    // Without the digest of the plain text, apt treats the index as empty and reports nothing.
    ...plainTexts,
    ...compressed.map(([path, rendering]) => ({ path, ...rendering })),
    ...input.backgroundIndexes.flatMap(withPlain),
  ])
  const bytes = Buffer.from(release)
  const [detached, clearsigned] = await Promise.all([
    signers.openpgp.detach(bytes, date),
    signers.openpgp.clearsign(release, date),
  ])
  return [
    ...compressed.map(([path, { parts, sha256 }]): IndexFile => ({ path, content: parts, byHash: sha256 })),
    { path: 'Release', content: bytes },
    { path: 'Release.gpg', content: Buffer.from(detached) },
    { path: 'InRelease', content: Buffer.from(clearsigned) },
  ]
}

export function binaryDirectory(distribution: Distribution, arch: string): string {
  return `${distribution.component ?? 'main'}/binary-${arch}`
}

interface Listed {
  path: string
  sizeBytes: number
  sha256: string
}

/** apt fetches a compressed file only if its plain form is listed too, which need not exist. */
function withPlain({ plain, ...file }: BackgroundIndex): Listed[] {
  return plain ? [{ path: file.path.replace(/\.gz$/, ''), ...plain }, file] : [file]
}

/** https://wiki.debian.org/DebianRepository/Format#A.22Release.22_files */
function renderRelease(distribution: Distribution, date: Date, files: readonly Listed[]): string {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1))
  const width = Math.max(...sorted.map((file) => String(file.sizeBytes).length))
  const { origin, label, suite, description, notAutomatic, butAutomaticUpgrades } = distribution.release ?? {}
  return [
    `Origin: ${origin ?? 'Gatehouse'}`,
    `Label: ${label ?? 'Gatehouse'}`,
    `Suite: ${suite ?? distribution.codename}`,
    `Codename: ${distribution.codename}`,
    `Date: ${rfc2822(date)}`,
    ...(notAutomatic ? ['NotAutomatic: yes'] : []),
    ...(butAutomaticUpgrades ? ['ButAutomaticUpgrades: yes'] : []),
    'Acquire-By-Hash: yes',
    `Architectures: ${distribution.architectures.join(' ')}`,
    `Components: ${distribution.component ?? 'main'}`,
    `Description: ${description ?? `Packages for ${distribution.fullName}`}`,
    'SHA256:',
    ...sorted.map((file) => ` ${file.sha256} ${String(file.sizeBytes).padStart(width)} ${file.path}`),
    '',
  ].join('\n')
}

/** `Sat, 21 Nov 2026 11:00:00 UTC`: apt accepts no other zone name. */
function rfc2822(date: Date): string {
  return date.toUTCString().replace('GMT', 'UTC')
}
