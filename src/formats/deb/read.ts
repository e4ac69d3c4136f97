// Reads a .deb into facts: what its control file and its file list say. Bounded whatever the file holds.
import { readAll } from '../../archive/entry-content.ts'
import { invalid } from '../../archive/limits.ts'
import type { PackageFacts } from '../../domain/package.ts'
import type { Member } from '../ecosystem.ts'
import { decodeControl, fieldOf, parseControl, type ControlField } from './control.ts'
import { debEntries, readDebLayout, type DebLayout } from './open.ts'
import { parseProvides, parseRequirements } from './relations.ts'
import { readSignatures } from './signatures.ts'
import { versions, withoutEpoch } from './versions.ts'

/** What the index entry is made from: the control file's fields in its order. */
export interface DebRecord {
  fields: ControlField[]
}

const MOST_CONTROL_BYTES = 10 * 1024 ** 2
// A million entries of short names are fine, a million of the longest are not: the list is held in memory.
const MOST_NAME_CHARACTERS = 64 * 1024 ** 2
// File systems take 255 bytes; the rest is for whoever writes beside it under a temporary name.
const LONGEST_FILENAME = 220

/** @throws Problem('invalid_package') */
export async function readDeb(path: string): Promise<PackageFacts<DebRecord>> {
  const layout = await readDebLayout(path)
  const fields = parseControl(decodeControl(await readControlFile(path, layout)))
  const facts = describe(fields)
  facts.signatures = await readSignatures(path, layout.extra)
  facts.files = await readFileList(path, layout)
  return facts
}

/** Regular files of both archives; those of control.tar under `DEBIAN/`, where dpkg-deb puts them. */
export async function* debMembers(path: string): AsyncGenerator<Member> {
  const { control, data } = await readDebLayout(path)
  for (const [member, prefix] of [
    [control, 'DEBIAN/'],
    [data, ''],
  ] as const) {
    for await (const entry of debEntries(path, member)) {
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
    // Of two, dpkg takes the last and other readers the first.
    if (found) throw invalid('the package has two control files')
    if (entry.type !== 'file') throw invalid('the control file is no regular file')
    found = await readAll(entry.content, MOST_CONTROL_BYTES, 'control file')
  }
  if (!found) throw invalid('the package has no control file')
  return found
}

async function readFileList(path: string, { data }: DebLayout): Promise<string[]> {
  const files: string[] = []
  let characters = 0
  for await (const entry of debEntries(path, data)) {
    if (entry.type === 'directory') continue
    if (entry.path === '') throw invalid('the package has a file without a name')
    characters += entry.path.length
    if (characters > MOST_NAME_CHARACTERS) throw invalid('the package has too many file names')
    files.push(entry.path)
  }
  return files
}

function describe(fields: ControlField[]): PackageFacts<DebRecord> {
  const name = required(fields, 'Package')
  // Policy 5.6.1
  if (!/^[a-z0-9][a-z0-9+.-]+$/.test(name)) throw invalid('the control file has a package name that is not allowed')
  const version = required(fields, 'Version')
  if (!versions.isValid(version)) throw invalid('the control file has a version that is not allowed')
  const arch = required(fields, 'Architecture')
  // Policy 5.6.8: one architecture, or `all`; wildcards belong to source packages.
  if (!/^[a-z0-9][a-z0-9-]*$/.test(arch) || arch === 'any' || arch === 'source') {
    throw invalid('the control file has an architecture that is not allowed')
  }
  if (debFilename({ name, version, arch }).length > LONGEST_FILENAME) {
    throw invalid('the package name and version are too long for a file name')
  }
  const text = (field: string): string | null => fieldOf(fields, field) || null
  const source = parseSource(text('Source'), name, version)
  const installedSize = text('Installed-Size')
  return {
    format: 'deb',
    name,
    version,
    arch,
    section: text('Section'),
    description: text('Description')?.split('\n')[0] || null,
    maintainer: text('Maintainer'),
    license: text('License'),
    url: text('Homepage'),
    sourcePackage: source.name,
    sourceVersion: source.version,
    installedSizeKb: installedSize !== null && /^[0-9]{1,15}$/.test(installedSize) ? Number(installedSize) : null,
    requirements: parseRequirements(fields),
    provides: parseProvides(fields),
    files: [],
    signatures: [],
    record: { fields },
  }
}

function required(fields: readonly ControlField[], name: string): string {
  const value = fieldOf(fields, name)
  if (!value) throw invalid(`the control file has no ${name}`)
  return value
}

/** `name` or `name (version)`; a package without the field is its own source (Policy 5.6.1). */
function parseSource(value: string | null, name: string, version: string): { name: string; version: string | null } {
  if (value === null) return { name, version: null }
  const parts = /^([A-Za-z0-9][A-Za-z0-9+._-]*)(?:\s*\(\s*([^\s()]+)\s*\))?$/.exec(value)
  if (!parts) throw invalid('the control file has a source that cannot be read')
  const sourceVersion = parts[2]
  if (sourceVersion !== undefined && !versions.isValid(sourceVersion)) {
    throw invalid('the control file has a source version that is not allowed')
  }
  return { name: parts[1]!, version: sourceVersion === undefined || sourceVersion === version ? null : sourceVersion }
}
