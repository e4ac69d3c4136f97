// Renders a package's record and the index file of a generation. Pure: the same input gives the same bytes.
import type { Distribution, StoredPackage } from '../../domain/package.ts'
import type { IndexFile, IndexInput } from '../format.ts'
import { itemsOf, rawValueOf, type PkginfoField } from './pkginfo.ts'
import type { ApkRecord } from './read.ts'
import { writeRelation } from './relations.ts'
import { gzipMember, TAR_END, tarFile, tarHeader, tarPadding } from './tar-blocks.ts'

export const STREAM = 'apkindex'
export const INDEX_FILE = 'APKINDEX.tar.gz'
export const NOARCH = 'noarch'
// See `read.ts`: the description and the other values must fit into 2,048 bytes.
const LONGEST_DESCRIPTION = 512

/** Beside the index of each architecture that has it, under the only name apk requests. */
export function packagePaths(
  { filename, arch }: { filename: string; arch: string },
  { architectures }: Distribution,
): string[] {
  return (arch === NOARCH ? architectures : [arch]).map((one) => `${one}/${filename}`)
}

/** A record of `APKINDEX` (https://wiki.alpinelinux.org/wiki/Apk_spec, "APKINDEX Format"; apk-package(5) for the letters). */
export function renderEntry(pkg: StoredPackage<ApkRecord>): Record<string, Uint8Array> {
  const { name, version, arch, record } = pkg.facts
  const { fields } = record
  const lines: [string, string | null][] = [
    ['C', `Q1${Buffer.from(record.controlSha1, 'hex').toString('base64')}`],
    ['P', name],
    ['V', version],
    ['A', arch],
    ['S', String(pkg.sizeBytes)],
    ['I', String(record.installedBytes)],
    ['T', shortened(rawValueOf(fields, 'pkgdesc') ?? '', LONGEST_DESCRIPTION)],
    ['U', rawValueOf(fields, 'url')],
    ['L', rawValueOf(fields, 'license')],
    ['o', rawValueOf(fields, 'origin')],
    ['m', rawValueOf(fields, 'maintainer')],
    ['t', rawValueOf(fields, 'builddate')],
    ['c', rawValueOf(fields, 'commit')],
    ['k', rawValueOf(fields, 'provider_priority')],
    ['D', joined(fields, 'depend')],
    ['p', joined(fields, 'provides')],
    ['i', joined(fields, 'install_if')],
    ['r', joined(fields, 'replaces')],
  ]
  const written = lines.filter(([, value]) => value !== null && value !== '')
  return { [STREAM]: Buffer.from(`${written.map(([letter, value]) => `${letter}:${value}\n`).join('')}\n`) }
}

const A_NOARCH = Buffer.from(`\nA:${NOARCH}\n`)

/** apk puts the architecture into the URL, so a noarch package gets the architecture of the tree. */
export function entryIn(entry: Uint8Array, arch: string): Uint8Array {
  const bytes = Buffer.from(entry.buffer, entry.byteOffset, entry.byteLength)
  const at = bytes.indexOf(A_NOARCH)
  if (at === -1) return entry
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(`\nA:${arch}\n`), bytes.subarray(at + A_NOARCH.length)])
}

export async function renderIndex(input: IndexInput): Promise<IndexFile[]> {
  return Promise.all(input.architectures.map((arch) => renderArchitecture(input, arch)))
}

/** One file of two gzip members: a tar archive without an end marker, with the signature, and the archive it signs. */
async function renderArchitecture(
  { distribution, revision, compose, signers }: IndexInput,
  arch: string,
): Promise<IndexFile> {
  const description = Buffer.from(`Gatehouse ${distribution.codename} r${revision}`)
  // The header states the size of the content after it.
  const nothing = new Uint8Array(0)
  const { sizeBytes } = (await compose(STREAM, arch, nothing, nothing)).plain
  const head = Buffer.concat([tarFile('DESCRIPTION', description), tarHeader('APKINDEX', sizeBytes)])
  const tail = Buffer.concat([tarPadding(sizeBytes), TAR_END])
  const { gz } = await compose(STREAM, arch, head, tail)
  const signature = await signers.apk.sign(Buffer.concat(gz.parts))
  const signed = gzipMember(tarFile(`.SIGN.RSA256.${signers.apk.keyName}`, signature))
  return { path: `${arch}/${INDEX_FILE}`, content: [signed, ...gz.parts] }
}

function joined(fields: readonly PkginfoField[], key: string): string {
  return itemsOf(fields, key).map(writeRelation).join(' ')
}

/** Shortens to `mostBytes` of UTF-8, between characters. */
function shortened(text: string, mostBytes: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= mostBytes) return text
  return new TextDecoder().decode(bytes.subarray(0, mostBytes), { stream: true }).trimEnd()
}
