// Reads the facts of an .rpm from its header, and verifies its payload.
import { invalid } from '../archive/limits.ts'
import type { PackageFacts } from '../../domain/package.ts'
import { checkLine, checkText, quote } from '../bounds.ts'
import type { Member, ReadOptions } from '../ecosystem.ts'
import { readChangelogs, type Changelog } from './changelogs.ts'
import { packFileList, type FileList } from './file-list.ts'
import { readFiles, type RpmFile } from './files.ts'
import type { Header } from './header.ts'
import { formatOf, readRpmLayout, type RpmLayout } from './open.ts'
import { payloadFiles } from './payload.ts'
import { isPrimaryFile, providesOf, readDependencies, requirementsOf, type Dependencies } from './relations.ts'
import { scriptletNames, scripts } from './scriptlets.ts'
import { readSignatures } from './signatures.ts'
import { SIGNATURE_TAG, TAG } from './tags.ts'
import { isPart } from './versions.ts'

/** The data of the index entries: the values of the header in their order. */
export interface RpmRecord extends FileList {
  epoch: number
  version: string
  release: string
  summary: string
  description: string
  packager: string | null
  vendor: string | null
  license: string | null
  group: string | null
  url: string | null
  buildHost: string | null
  /** seconds since 1970 */
  buildTime: number | null
  sourceRpm: string
  installedBytes: number
  /** of the payload, uncompressed */
  archiveBytes: number
  /** offsets of the main header in the file */
  headerStart: number
  headerEnd: number
  dependencies: Dependencies
  changelogs: Changelog[]
  /** names of the scripts it has: `post`, `triggers` … */
  scriptlets: string[]
  modularityLabel: string | null
  /** version of the package format, if newer than 4 */
  rpmFormat?: number
}

// File systems accept 255 bytes; temporary names need the rest.
const LONGEST_FILENAME = 220
const LINES = [
  ['summary', TAG.SUMMARY],
  ['packager', TAG.PACKAGER],
  ['vendor', TAG.VENDOR],
  ['license', TAG.LICENSE],
  ['group', TAG.GROUP],
  ['URL', TAG.URL],
  ['build host', TAG.BUILDHOST],
  ['source package name', TAG.SOURCERPM],
  ['modularity label', TAG.MODULARITYLABEL],
] as const

/** @throws Problem('invalid_package') */
export async function readRpm(path: string, options: ReadOptions = {}): Promise<PackageFacts<RpmRecord>> {
  const layout = await readRpmLayout(path)
  const files = readFiles(layout.header)
  const facts = describe(layout, files)
  // Reading to the end verifies the payload; scanners judge its content.
  for await (const _ of payloadFiles(path, layout, files, options));
  return facts
}

/** Regular files of the payload under their paths, and the header's scripts under `RPM/`. */
export async function* rpmMembers(path: string, options: ReadOptions = {}): AsyncGenerator<Member> {
  const layout = await readRpmLayout(path)
  for (const { name, content } of scripts(layout.header)) {
    yield { name: `RPM/${name}`, sizeBytes: content.length, content: once(content) }
  }
  yield* payloadFiles(path, layout, readFiles(layout.header), options)
}

/** `name-version-release.arch.rpm`, without the epoch, as rpmbuild names it. */
export function rpmFilename({ name, version, arch }: Pick<PackageFacts, 'name' | 'version' | 'arch'>): string {
  return `${name}-${version.slice(version.indexOf(':') + 1)}.${arch}.rpm`
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  if (content.length > 0) yield content
}

function describe(layout: RpmLayout, files: readonly RpmFile[]): PackageFacts<RpmRecord> {
  const { header, signature } = layout
  const { name, version, release, epoch, arch, evr } = identityOf(header)
  for (const [what, tag] of LINES) checkLine(`a ${what}`, header.text(tag))
  checkText('a description', header.text(TAG.DESCRIPTION) ?? '')
  const dependencies = readDependencies(header)
  const record: RpmRecord = {
    epoch,
    version,
    release,
    summary: header.text(TAG.SUMMARY) ?? '',
    description: header.text(TAG.DESCRIPTION) ?? '',
    packager: header.text(TAG.PACKAGER),
    vendor: header.text(TAG.VENDOR),
    license: header.text(TAG.LICENSE),
    group: header.text(TAG.GROUP),
    url: header.text(TAG.URL),
    buildHost: header.text(TAG.BUILDHOST),
    buildTime: header.number(TAG.BUILDTIME),
    sourceRpm: header.text(TAG.SOURCERPM) ?? '',
    installedBytes: header.number(TAG.LONGSIZE) ?? header.number(TAG.SIZE) ?? 0,
    archiveBytes:
      signature.number(SIGNATURE_TAG.LONGARCHIVESIZE) ??
      signature.number(SIGNATURE_TAG.PAYLOADSIZE) ??
      header.number(TAG.ARCHIVESIZE) ??
      0,
    headerStart: layout.headerStart,
    headerEnd: layout.payloadStart,
    dependencies,
    ...packFileList(files),
    changelogs: readChangelogs(header),
    scriptlets: scriptletNames(header),
    modularityLabel: header.text(TAG.MODULARITYLABEL),
    ...(formatOf(header) > 4 ? { rpmFormat: formatOf(header) } : {}),
  }
  const source = parseSource(record.sourceRpm, `${version}-${release}`)
  return {
    format: 'rpm',
    name,
    version: evr,
    arch,
    section: record.group || null,
    description: record.summary.split('\n')[0] || null,
    maintainer: record.packager || record.vendor || null,
    license: record.license || null,
    url: record.url || null,
    sourcePackage: source?.name ?? null,
    sourceVersion: source?.version ?? null,
    installedSizeKb: Math.ceil(record.installedBytes / 1024),
    requirements: requirementsOf(dependencies),
    provides: [
      ...providesOf(dependencies),
      ...files.filter(({ path }) => isPrimaryFile(path)).map(({ path }) => ({ name: path })),
    ],
    files: files.filter(({ kind }) => kind !== 'directory').map(({ path }) => path.slice(1)),
    signatures: readSignatures(signature),
    record,
  }
}

/** Name, version and architecture as the header states them. @throws Problem('invalid_package') for values that rpmbuild refuses */
function identityOf(header: Header) {
  const name = required(header, TAG.NAME, 'name')
  // The characters that rpmbuild accepts, without those of macros.
  if (!/^[A-Za-z0-9_][A-Za-z0-9._+-]*$/.test(name))
    throw invalid(`the rpm header has the name ${quote(name)}; letters, digits and . _ + - are allowed`)
  const version = required(header, TAG.VERSION, 'version')
  const release = required(header, TAG.RELEASE, 'release')
  if (!isPart(version) || !isPart(release))
    throw invalid(
      `the rpm header has the version ${quote(`${version}-${release}`)}; letters, digits and . _ + ~ ^ are allowed in both parts`,
    )
  const arch = required(header, TAG.ARCH, 'architecture')
  if (!/^[a-z0-9_]+$/i.test(arch))
    throw invalid(`the rpm header has the architecture ${quote(arch)}; expected one like x86_64, or noarch`)
  const epoch = header.number(TAG.EPOCH) ?? 0
  const evr = `${epoch > 0 ? `${epoch}:` : ''}${version}-${release}`
  if (rpmFilename({ name, version: evr, arch }).length > LONGEST_FILENAME) {
    throw invalid('the package name and version are too long for a file name')
  }
  return { name, version, release, epoch, arch, evr }
}

function required(header: Header, tag: number, what: string): string {
  const value = header.text(tag)
  if (!value) throw invalid(`the rpm header has no ${what}`)
  return value
}

/** Parses `name-version-release.src.rpm`; `version` is set only if it differs from the binary's. */
export function parseSource(sourceRpm: string, own: string): { name: string; version: string | null } | null {
  const parts = /^([^/]+)-([^-/]+-[^-/]+)\.(?:no)?src\.rpm$/.exec(sourceRpm)
  const [, name, version] = parts ?? []
  if (name === undefined || version === undefined) return null
  return { name, version: version === own ? null : version }
}
