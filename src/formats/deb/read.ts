// Reads the facts of a .deb from its control file and its file list.
import { readAll } from '../archive/entry-content.ts'
import { invalid } from '../archive/limits.ts'
import type { PackageFacts } from '../../domain/package.ts'
import { checkLine, quote, createFileCount } from '../bounds.ts'
import type { Member, ReadOptions } from '../ecosystem.ts'
import { decodeControl, fieldOf, parseControl, type ControlField } from './control.ts'
import { debEntries, readDebLayout, type DebLayout } from './open.ts'
import { parseProvides, parseRequirements } from './relations.ts'
import { readSignatures, signatureMembers } from './signatures.ts'
import { versions, withoutEpoch } from './versions.ts'

/** The data of the index entry: the fields of the control file in their order. */
export interface DebRecord {
  fields: ControlField[]
}

const MOST_CONTROL_BYTES = 4 * 1024 ** 2
// File systems accept 255 bytes; temporary names need the rest.
const LONGEST_FILENAME = 220

/** @throws Problem('invalid_package') */
export async function readDeb(path: string, { maxUnpackedBytes }: ReadOptions = {}): Promise<PackageFacts<DebRecord>> {
  const layout = await readDebLayout(path)
  const fields = parseControl(decodeControl(await readControlFile(path, layout)))
  const facts = factsOf(fields)
  facts.signatures = await readSignatures(path, layout.signatures)
  facts.files = await readFileList(path, layout, limitsOf(maxUnpackedBytes))
  return facts
}

/** Signatures and the regular files of both archives, those of control.tar under `DEBIAN/`, where dpkg-deb puts them. */
export async function* debMembers(path: string, { maxUnpackedBytes }: ReadOptions = {}): AsyncGenerator<Member> {
  const { control, data, signatures } = await readDebLayout(path)
  yield* signatureMembers(path, signatures)
  for (const [member, prefix] of [
    [control, 'DEBIAN/'],
    [data, ''],
  ] as const) {
    for await (const entry of debEntries(path, member, limitsOf(maxUnpackedBytes))) {
      if (entry.type === 'file') yield { name: prefix + entry.path, sizeBytes: entry.sizeBytes, content: entry.content }
    }
  }
}

/** `name_version_arch.deb`, the version without its epoch: dpkg-name(1). */
export function debFilename(facts: Pick<PackageFacts, 'name' | 'version' | 'arch'>): string {
  // After an epoch a version may hold further colons, which file names and URLs should not.
  return `${facts.name}_${withoutEpoch(facts.version).replaceAll(':', '.')}_${facts.arch}.deb`
}

async function readControlFile(path: string, { control }: DebLayout): Promise<Buffer> {
  let found: Buffer | null = null
  for await (const entry of debEntries(path, control)) {
    if (entry.path !== 'control') continue
    // Given two, dpkg reads the last and other readers the first.
    if (found) throw invalid('the package has two control files')
    if (entry.type !== 'file') throw invalid('the control file is not a regular file')
    found = await readAll(entry.content, MOST_CONTROL_BYTES, 'control file')
  }
  if (!found) throw invalid('the package has no control file')
  return found
}

const limitsOf = (maxOutputBytes: number | undefined) => (maxOutputBytes === undefined ? {} : { maxOutputBytes })

async function readFileList(path: string, { data }: DebLayout, limits: { maxOutputBytes?: number }): Promise<string[]> {
  const files: string[] = []
  const count = createFileCount()
  for await (const entry of debEntries(path, data, limits)) {
    if (entry.type === 'directory') continue
    if (entry.path === '') throw invalid('the package has a file without a name')
    count.add(entry.path)
    files.push(entry.path)
  }
  return files
}

/** What the fields of a control file, or of a stanza of an index, state. @throws Problem('invalid_package') */
export function factsOf(fields: ControlField[]): PackageFacts<DebRecord> {
  const name = required(fields, 'Package')
  // The names that dpkg accepts, without `_`, which ends the name in file names. Policy 5.6.7 requires lower case and two
  // characters; other vendors' packages follow neither rule.
  if (!/^[A-Za-z0-9][A-Za-z0-9+.-]*$/.test(name))
    throw invalid(`the control file has the package name ${quote(name)}; letters, digits, +, - and . are allowed`)
  const version = required(fields, 'Version')
  if (!versions.isValid(version))
    throw invalid(
      `the control file has the version ${quote(version)}; expected [epoch:]upstream[-revision], such as 1.0-1`,
    )
  const arch = required(fields, 'Architecture')
  // Policy 5.6.8: one architecture, or `all`; wildcards belong to source packages.
  if (!/^[a-z0-9][a-z0-9-]*$/.test(arch) || arch === 'any' || arch === 'source') {
    throw invalid(`the control file has the architecture ${quote(arch)}; expected one, such as amd64, or all`)
  }
  if (debFilename({ name, version, arch }).length > LONGEST_FILENAME) {
    throw invalid('the package name and version are too long for a file name')
  }
  const text = (field: string): string | null => {
    const value = fieldOf(fields, field) || null
    checkLine(`a field ${field}`, value)
    return value
  }
  const synopsis = fieldOf(fields, 'Description')?.split('\n')[0]?.trimEnd() || null
  checkLine('a synopsis', synopsis)
  const source = parseSource(text('Source'), name, version)
  const installedSize = text('Installed-Size')
  return {
    format: 'deb',
    name,
    version,
    arch,
    section: text('Section'),
    description: synopsis,
    maintainer: text('Maintainer'),
    license: text('License'),
    url: text('Homepage'),
    sourcePackage: source.name,
    sourceVersion: source.version,
    installedSizeKb: installedSize !== null && /^[0-9]{1,15}$/.test(installedSize) ? Number(installedSize) : null,
    requirements: parseRequirements(fields),
    provides: parseProvides(fields),
    ...multiArchOf(fields),
    files: [],
    signatures: [],
    record: { fields },
  }
}

const MULTI_ARCH = ['foreign', 'allowed', 'same'] as const

/** Debian Policy 5.6.30 leaves the values to https://wiki.debian.org/MultiArch/Hints; `no` is the default. */
function multiArchOf(fields: readonly ControlField[]): Pick<PackageFacts, 'multiArch'> {
  const value = fieldOf(fields, 'Multi-Arch')?.trim()
  const multiArch = MULTI_ARCH.find((one) => one === value)
  return multiArch ? { multiArch } : {}
}

function required(fields: readonly ControlField[], name: string): string {
  const value = fieldOf(fields, name)
  if (!value) throw invalid(`the control file has no ${name}`)
  return value
}

/** `name` or `name (version)`, also `name (= version)`; without the field a package is its own source (Policy 5.6.1). */
function parseSource(value: string | null, name: string, version: string): { name: string; version: string | null } {
  if (value === null) return { name, version: null }
  const parts = /^([A-Za-z0-9][A-Za-z0-9+._-]*)(?:\s*\(\s*(?:=\s*)?([^\s()=]+)\s*\))?$/.exec(value)
  if (!parts) throw invalid('the control file has a source that cannot be read')
  const sourceVersion = parts[2]
  if (sourceVersion !== undefined && !versions.isValid(sourceVersion)) {
    throw invalid('the control file has a source version that is not allowed')
  }
  return { name: parts[1]!, version: sourceVersion === undefined || sourceVersion === version ? null : sourceVersion }
}
