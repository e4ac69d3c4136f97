// Reads source distributions: a .tar.gz or .zip with one directory, which has PKG-INFO (PEP 517, 625, 721).
import { posix } from 'node:path'
import type { PackageFacts } from '../../domain/package.ts'
import { stat } from 'node:fs/promises'
import { decompress } from '../archive/compression.ts'
import { readAll } from '../archive/entry-content.ts'
import { fileRange } from '../archive/file-range.ts'
import { DEFAULT_LIMITS, invalid, plausibleOutput } from '../archive/limits.ts'
import { readTar, type TarEntry } from '../archive/tar.ts'
import { createFileCount, MOST_FILES, quote } from '../bounds.ts'
import type { Member, ReadOptions } from '../ecosystem.ts'
import { factsOf, MOST_METADATA_BYTES, readFields, textOf } from './core-metadata.ts'
import type { PypiRecord } from './record.ts'
import { withZip } from './wheel.ts'

/** @throws Problem('invalid_package') */
export async function readTarball(path: string, options: ReadOptions): Promise<PackageFacts<PypiRecord>> {
  const seen = createTree()
  for await (const entry of await tarEntries(path, options)) {
    requireOrdinary(entry)
    const name = seen.add(entry.name)
    if (entry.type === 'directory') continue
    await seen.file(name, entry.sizeBytes, entry.content)
  }
  return seen.facts('tar.gz')
}

/** @throws Problem('invalid_package') */
export function readZippedSource(path: string, options: ReadOptions): Promise<PackageFacts<PypiRecord>> {
  return withZip(path, options, async (entries) => {
    const seen = createTree()
    for await (const { name, sizeBytes, content } of entries()) await seen.file(seen.add(name), sizeBytes, content())
    return seen.facts('zip')
  })
}

export async function* tarballMembers(path: string, options: ReadOptions): AsyncGenerator<Member> {
  for await (const { type, name, sizeBytes, content } of await tarEntries(path, options))
    if (type === 'file') yield { name, sizeBytes, content }
}

async function tarEntries(path: string, { maxUnpackedBytes = DEFAULT_LIMITS.maxOutputBytes }: ReadOptions) {
  const { size } = await stat(path)
  const maxOutputBytes = Math.min(maxUnpackedBytes, plausibleOutput(size))
  return readTar(decompress(fileRange(path), 'gzip', { maxOutputBytes }), {
    mostEntries: 2 * MOST_FILES,
    mostBytes: maxOutputBytes,
  })
}

/** PEP 721: what Python's `data` filter refuses. */
function requireOrdinary({ name, type, linkName }: TarEntry): void {
  if (type === 'file' || type === 'directory') return
  if (type !== 'symbolic-link' && type !== 'hard-link')
    throw invalid(`${quote(name)} is neither a file nor a directory nor a link`)
  const target = type === 'hard-link' ? linkName : posix.join(posix.dirname(name), linkName)
  const [root] = name.split('/')
  if (linkName.startsWith('/') || posix.normalize(target).split('/')[0] !== root)
    throw invalid(`${quote(name)} is a link that leads out of the archive`)
}

/** The files of an archive, of which the first PKG-INFO below the top is read. */
function createTree() {
  const names = new Set<string>()
  const files: string[] = []
  const count = createFileCount()
  let root: string | null = null
  let information: string | null = null
  let unpackedBytes = 0
  return {
    /** @returns the path without a slash at its end @throws Problem('invalid_package') for a path that leads out, or is there twice */
    add(written: string): string {
      const name = written.replace(/\/$/, '')
      const parts = name.split('/')
      if (/[\x00-\x1f\x7f\\]/.test(name) || parts.some((part) => ['', '.', '..'].includes(part)))
        throw invalid(`${quote(written)} is no path inside of the archive`)
      root ??= parts[0]!
      if (parts[0] !== root) throw invalid(`the archive has ${quote(written)} beside its directory ${quote(root)}`)
      if (names.has(name)) throw invalid(`${quote(name)} is in the archive twice`)
      names.add(name)
      count.add(name)
      return name
    },
    async file(name: string, sizeBytes: number, content: AsyncIterable<Uint8Array>): Promise<void> {
      files.push(name)
      unpackedBytes += sizeBytes
      if (name === `${root}/PKG-INFO`)
        information = textOf(await readAll(content, MOST_METADATA_BYTES, 'file PKG-INFO'), 'PKG-INFO')
      // Checks the checksum of a zip's entry; tar reads on by itself.
      else for await (const _ of content);
    },
    facts(archive: 'tar.gz' | 'zip'): PackageFacts<PypiRecord> {
      if (information === null) throw invalid('the archive has no file PKG-INFO in its directory')
      const content = { file: { kind: 'sdist' as const, archive }, files, unpackedBytes }
      return factsOf(readFields(information, 'PKG-INFO'), content, null)
    },
  }
}
