// Renders a package's three elements and the repodata of a generation. Pure: the same input gives the same bytes.
import type { Distribution, StoredPackage } from '../../domain/package.ts'
import type { IndexFile, IndexInput, Rendering } from '../format.ts'
import type { Substitute } from '../serving.ts'
import { renderFilelists, renderOther, renderPrimary } from './render-package.ts'
import type { RpmRecord } from './read.ts'
import { isUpdateinfo } from './updateinfo.ts'
import { escapeXml } from './xml.ts'

/** Package directory, relative to the base URL. */
export const PACKAGES = 'Packages'
export const REPODATA = 'repodata'

/** The digest in the path separates files with the same name and different bytes. */
export function packagePath({ filename, sha256 }: { filename: string; sha256: string }): string {
  return `${sha256.slice(0, 2)}/${sha256.slice(2, 18)}/${filename}`
}

/**
 * Where a digest-named repodata file is found after a flip: dnf and zypper request it in `repodata/` itself (librepo creates
 * no deeper directories), but that directory has only files of the live generation.
 */
export function ofEarlierGeneration(path: string): Substitute | null {
  const [, directory, digest, kind] = /^(.*\/repodata\/)([0-9a-f]{64})(-\w+\.xml\.gz)$/.exec(path) ?? []
  if (digest === undefined) return null
  // Background indexes are linked there under only their digest.
  return { path: `${directory}by-hash/SHA256/${digest}${kind === '-updateinfo.xml.gz' ? '' : kind}`, gunzip: false }
}

export function renderEntry(pkg: StoredPackage<RpmRecord>): Record<string, Uint8Array> {
  const { filename, digests } = pkg
  const location = `${PACKAGES}/${packagePath({ filename, sha256: digests.sha256 })}`
  return {
    primary: Buffer.from(renderPrimary(pkg, location)),
    filelists: Buffer.from(renderFilelists(pkg)),
    other: Buffer.from(renderOther(pkg)),
  }
}

const NAMESPACE = 'http://linux.duke.edu/metadata'
const STREAMS = [
  { key: 'primary', element: 'metadata', xmlns: `xmlns="${NAMESPACE}/common" xmlns:rpm="${NAMESPACE}/rpm"` },
  { key: 'filelists', element: 'filelists', xmlns: `xmlns="${NAMESPACE}/filelists"` },
  { key: 'other', element: 'otherdata', xmlns: `xmlns="${NAMESPACE}/other"` },
] as const
const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

/**
 * `repomd.xml` is last, because clients read it first. The files named by digest are also linked in the directory that
 * generations share, where the listener finds those of an earlier generation. `repomd.xml` cannot name them there:
 * librepo (dnf 4.14) aborts on a location deeper than `repodata/`.
 */
export async function renderIndex(input: IndexInput): Promise<IndexFile[]> {
  const files = await Promise.all(input.architectures.map((arch) => renderRepodata(input, arch)))
  return files.flat()
}

async function renderRepodata(input: IndexInput, arch: string): Promise<IndexFile[]> {
  const { date, revision, signers, distribution } = input
  const directory = `${arch}/${REPODATA}`
  const files: IndexFile[] = []
  const data: string[] = []
  for (const { key, element, xmlns } of STREAMS) {
    const head = `${DECLARATION}<${element} ${xmlns} packages="${input.count(arch)}">\n`
    const { plain, gz } = await input.compose(key, arch, Buffer.from(head), Buffer.from(`</${element}>\n`))
    const name = `${gz.sha256}-${key}.xml.gz`
    files.push({ path: `${directory}/${name}`, content: gz.parts, byHash: name })
    data.push(renderData(key, `${REPODATA}/${name}`, gz, plain.sizeBytes, date))
  }
  // Background indexes already exist; the publisher links them.
  for (const background of input.backgroundIndexes.filter(isUpdateinfo)) {
    if (!background.path.startsWith(`${directory}/`)) continue
    const href = background.path.slice(`${arch}/`.length)
    data.push(renderData('updateinfo', href, background, background.plain?.sizeBytes ?? null, date))
  }
  const repomd = Buffer.from(renderRepomd(distribution, revision, data))
  return [
    ...files,
    // zypper takes the key from here when no `gpgkey` is configured.
    { path: `${directory}/repomd.xml.key`, content: Buffer.from(signers.openpgp.publicKeyArmored) },
    { path: `${directory}/repomd.xml.asc`, content: Buffer.from(await signers.openpgp.detach(repomd, date)) },
    { path: `${directory}/repomd.xml`, content: repomd },
  ]
}

function renderRepomd(distribution: Distribution, revision: number, data: readonly string[]): string {
  return [
    `${DECLARATION}<repomd xmlns="${NAMESPACE}/repo" xmlns:rpm="${NAMESPACE}/rpm">`,
    `  <revision>${revision}</revision>`,
    '  <tags>',
    `    <content>${escapeXml(`Gatehouse packages for ${distribution.fullName}`)}</content>`,
    '  </tags>',
    ...data,
    '</repomd>',
    '',
  ].join('\n')
}

/**
 * Without `open-checksum`, which would need a digest of the whole text at every publish; dnf and zypper verify the
 * compressed file.
 */
function renderData(
  key: string,
  href: string,
  { sha256, sizeBytes }: Pick<Rendering, 'sha256' | 'sizeBytes'>,
  plainBytes: number | null,
  date: Date,
): string {
  return [
    `  <data type="${key}">`,
    `    <checksum type="sha256">${sha256}</checksum>`,
    `    <location href="${href}"/>`,
    `    <timestamp>${Math.floor(date.getTime() / 1000)}</timestamp>`,
    `    <size>${sizeBytes}</size>`,
    ...(plainBytes === null ? [] : [`    <open-size>${plainBytes}</open-size>`]),
    '  </data>',
  ].join('\n')
}
