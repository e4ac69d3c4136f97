// Reads the tarball of an npm package: package.json, and what the list of its files says.
import { stat } from 'node:fs/promises'
import type { PackageFacts } from '../../domain/package.ts'
import { isStorable } from '../../domain/storable.ts'
import { decompress } from '../archive/compression.ts'
import { readAll } from '../archive/entry-content.ts'
import { fileRange } from '../archive/file-range.ts'
import { DEFAULT_LIMITS, invalid, plausibleOutput } from '../archive/limits.ts'
import { readTar, type TarEntry } from '../archive/tar.ts'
import { checkLine, createFileCount, MOST_FILES, quote } from '../bounds.ts'
import type { Member, ReadOptions } from '../ecosystem.ts'
import { licenseOf, personOf, readManifest, type Manifest } from './manifest.ts'
import { plainName } from './names.ts'

/** What the documents need besides the facts. */
export interface NpmRecord {
  manifest: Manifest
  /** whether an installation runs something of the package */
  hasInstallScript: boolean
  hasShrinkwrap: boolean
  fileCount: number
  unpackedBytes: number
  /** its beginning; null when there is none */
  readme: string | null
}

/** All versions of a name, each with its own, are in memory while a document is made. */
const MOST_MANIFEST_BYTES = 512 * 1024
const MOST_README_BYTES = 8 * 1024
const LONGEST_FILENAME = 220

/** @throws Problem('invalid_package') */
export async function readNpm(path: string, options: ReadOptions = {}): Promise<PackageFacts<NpmRecord>> {
  const count = createFileCount()
  const files: string[] = []
  let manifest: Manifest | null = null
  let readme: string | null = null
  let unpackedBytes = 0
  for await (const { path: name, sizeBytes, content } of npmEntries(path, options)) {
    count.add(name)
    files.push(name)
    unpackedBytes += sizeBytes
    // Disks that ignore case would unpack the other one over it.
    if (name.toLowerCase() === 'package.json') {
      if (manifest || name !== 'package.json') throw invalid('the package has more than one package.json')
      manifest = readManifest(await readAll(content, MOST_MANIFEST_BYTES, 'file package.json'))
    } else if (/^readme(\.md|\.markdown|\.txt)?$/i.test(name)) readme ??= await beginning(content)
  }
  if (!manifest) throw invalid('the package has no package.json')
  return factsOf(manifest, files, { unpackedBytes, readme })
}

export async function* npmMembers(path: string, options: ReadOptions = {}): AsyncGenerator<Member> {
  for await (const { path: name, sizeBytes, content } of npmEntries(path, options)) yield { name, sizeBytes, content }
}

/** The name in the addresses of npm's own registry: without the scope, which the path has. */
export const npmFilename = ({ name, version }: Pick<PackageFacts, 'name' | 'version'>): string =>
  `${plainName(name)}-${version}.tgz`

interface NpmEntry extends TarEntry {
  /** without the first directory, as clients unpack it */
  path: string
}

/** Every file. Clients unpack neither links nor devices, each in its own way, so a package with one is refused. */
async function* npmEntries(
  path: string,
  { maxUnpackedBytes = DEFAULT_LIMITS.maxOutputBytes }: ReadOptions,
): AsyncGenerator<NpmEntry, void, undefined> {
  const { size } = await stat(path)
  const mostBytes = Math.min(maxUnpackedBytes, plausibleOutput(size))
  const tar = readTar(decompress(fileRange(path), 'gzip', { maxOutputBytes: mostBytes }), {
    mostEntries: 2 * MOST_FILES,
    mostBytes,
  })
  for await (const entry of tar) {
    if (entry.type === 'directory') requirePlain(entry.name.replace(/\/$/, ''))
    else if (entry.type !== 'file')
      throw invalid(`the package has ${quote(entry.name)}, which is neither file nor directory`)
    else yield { ...entry, path: withoutFirst(entry.name) }
  }
}

/** Clients read a path differently when it has `.`, an empty segment, a backslash or a drive. */
function requirePlain(name: string): string[] {
  const segments = name.split('/')
  const isOdd = segments.some((one) => one === '' || one === '.' || one === '..')
  if (isOdd || /\\|^[a-z]:/i.test(name) || !isStorable(name))
    throw invalid(`the package has the path ${quote(name)}, which leads elsewhere or is read in more than one way`)
  return segments
}

function withoutFirst(name: string): string {
  const segments = requirePlain(name)
  // npm leaves it out, and pnpm unpacks it beside the files of the package.
  if (segments.length === 1) throw invalid(`the package has the file ${quote(name)} outside of its directory`)
  return segments.slice(1).join('/')
}

async function beginning(content: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of content) {
    pieces.push(piece)
    if ((size += piece.byteLength) >= MOST_README_BYTES) break
  }
  const text = new TextDecoder().decode(Buffer.concat(pieces).subarray(0, MOST_README_BYTES))
  return text.replaceAll('\0', '')
}

function factsOf(
  manifest: Manifest,
  files: string[],
  seen: Pick<NpmRecord, 'unpackedBytes' | 'readme'>,
): PackageFacts<NpmRecord> {
  const { name, version, homepage, description } = manifest
  if (npmFilename({ name, version }).length > LONGEST_FILENAME)
    throw invalid('the package name and version are too long for a file name')
  const license = licenseOf(manifest)
  const author = personOf(manifest['author'])
  const maintainer = author && (author.email ? `${author.name} <${author.email}>` : author.name)
  const url = typeof homepage === 'string' ? homepage : null
  for (const [what, text] of Object.entries({ license, author: maintainer, homepage: url }))
    checkLine(`a ${what}`, text)
  return {
    ...{ format: 'npm', name, version, arch: NPM_ARCH, license, maintainer, url, files },
    description: typeof description === 'string' ? description : null,
    installedSizeKb: Math.ceil(seen.unpackedBytes / 1024),
    ...{ section: null, sourcePackage: null, sourceVersion: null, requirements: [], provides: [], signatures: [] },
    record: {
      ...seen,
      manifest,
      hasInstallScript: runsAtInstallation(manifest, files),
      hasShrinkwrap: files.includes('npm-shrinkwrap.json'),
      fileCount: files.length,
    },
  }
}

/** npm packages are for every architecture; those that are not say so in `cpu`. */
export const NPM_ARCH = 'any'

/** With binding.gyp, npm runs node-gyp although no script says so. */
function runsAtInstallation({ scripts, gypfile }: Manifest, files: readonly string[]): boolean {
  const has = (name: string) => Object.hasOwn(scripts ?? {}, name)
  return ['preinstall', 'install', 'postinstall'].some(has) || (files.includes('binding.gyp') && gypfile !== false)
}
