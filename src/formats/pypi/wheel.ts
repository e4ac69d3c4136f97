// Reads wheels (https://packaging.python.org/specifications/binary-distribution-format/).
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { isProblem } from '../../domain/problem.ts'
import { normalPep440 } from '../../domain/versions/pep440.ts'
import type { PackageFacts } from '../../domain/package.ts'
import { readAll } from '../archive/entry-content.ts'
import { DEFAULT_LIMITS, invalid, plausibleOutput, tooLarge } from '../archive/limits.ts'
import { requireOneView } from '../archive/zip-one-view.ts'
import { fileSource, zipEntriesOf, type ZipEntry, type ZipSource } from '../archive/zip.ts'
import { createFileCount, MOST_FILES, quote } from '../bounds.ts'
import type { Member, ReadOptions } from '../ecosystem.ts'
import { factsOf, MOST_METADATA_BYTES, readFields, textOf } from './core-metadata.ts'
import { canonicalName } from './names.ts'
import type { PypiRecord } from './record.ts'
import { requireRecorded } from './recorded.ts'
import { tagsOf } from './tags.ts'

const LIMITS = { mostEntries: 2 * MOST_FILES, mostDirectoryBytes: 64 * 1024 ** 2 }
const MOST_WHEEL_BYTES = 64 * 1024
const MOST_RECORD_BYTES = 64 * 1024 ** 2

/** The file as a source of zip entries, with their total checked. @throws Problem('invalid_package') */
export async function withZip<T>(
  path: string,
  { maxUnpackedBytes = DEFAULT_LIMITS.maxOutputBytes }: ReadOptions,
  work: (entries: () => AsyncIterable<ZipEntry>) => Promise<T>,
): Promise<T> {
  const handle = await open(path)
  try {
    const source = await fileSource(handle)
    await requireOneView(source, LIMITS)
    return await work(() => boundedEntries(source, Math.min(maxUnpackedBytes, plausibleOutput(source.sizeBytes))))
  } catch (error) {
    // The zip reader throws plain sentences.
    throw isProblem(error) || (error as NodeJS.ErrnoException).syscall !== undefined
      ? error
      : invalid(`the zip archive cannot be read: ${(error as Error).message}`, error)
  } finally {
    await handle.close()
  }
}

async function* boundedEntries(source: ZipSource, mostBytes: number): AsyncGenerator<ZipEntry> {
  let bytes = 0
  for await (const entry of zipEntriesOf(source, LIMITS)) {
    if ((bytes += entry.sizeBytes) > mostBytes) throw tooLarge(mostBytes)
    yield entry
  }
}

/** @throws Problem('invalid_package') */
export function readWheel(path: string, options: ReadOptions): Promise<PackageFacts<PypiRecord>> {
  return withZip(path, options, async (entries) => {
    const directory = await describingDirectory(entries())
    const described = await readDescription(entries(), directory)
    await requireRecorded(entries(), described.record, directory)
    const file = tagsOf(readFields(described.wheel, 'WHEEL'))
    const metadata = described.metadata
    const sha256 = createHash('sha256').update(metadata).digest('hex')
    const facts = factsOf(readFields(metadata, 'METADATA'), { ...described, file }, { text: metadata, sha256 })
    requireOwn(directory, facts)
    return facts
  })
}

/** Whether a zip is a wheel: it has a directory that describes it. @throws Problem('invalid_package') */
export function hasDescription(path: string, options: ReadOptions): Promise<boolean> {
  return withZip(path, options, async (entries) => {
    for await (const { name } of entries()) if (/^[^/]+\.dist-info\//i.test(name)) return true
    return false
  })
}

/** The files of a zip for scanners. */
export async function* membersOf(path: string, options: ReadOptions): AsyncGenerator<Member> {
  const handle = await open(path)
  try {
    const source = await fileSource(handle)
    const most = Math.min(options.maxUnpackedBytes ?? DEFAULT_LIMITS.maxOutputBytes, plausibleOutput(source.sizeBytes))
    for await (const { name, sizeBytes, content } of boundedEntries(source, most))
      yield { name, sizeBytes, content: content() }
  } catch (error) {
    throw isProblem(error) ? error : invalid(`the zip archive cannot be read: ${(error as Error).message}`, error)
  } finally {
    await handle.close()
  }
}

/** `six-1.17.0.dist-info`: pip takes the only one at the top. */
async function describingDirectory(entries: AsyncIterable<ZipEntry>): Promise<string> {
  const found = new Set<string>()
  for await (const { name } of entries) {
    const [top = ''] = name.split('/', 1)
    if (/\.dist-info$/i.test(top)) found.add(top)
  }
  const [directory] = found
  if (directory === undefined || found.size > 1)
    throw invalid(`the wheel has ${found.size} directories that end in .dist-info; one is expected`)
  return directory
}

async function readDescription(entries: AsyncIterable<ZipEntry>, directory: string) {
  const wanted: Record<string, number> = {
    METADATA: MOST_METADATA_BYTES,
    WHEEL: MOST_WHEEL_BYTES,
    RECORD: MOST_RECORD_BYTES,
  }
  const texts = new Map<string, string>()
  const files: string[] = []
  const count = createFileCount()
  let unpackedBytes = 0
  for await (const entry of entries) {
    count.add(entry.name)
    files.push(entry.name)
    unpackedBytes += entry.sizeBytes
    const file = entry.name.slice(directory.length + 1)
    if (entry.name !== `${directory}/${file}` || !Object.hasOwn(wanted, file)) continue
    texts.set(file, textOf(await readAll(entry.content(), wanted[file]!, `file ${file}`), file))
  }
  const text = (file: string): string => {
    const known = texts.get(file)
    if (known === undefined) throw invalid(`the wheel has no file ${directory}/${file}`)
    return known
  }
  return { files, unpackedBytes, metadata: text('METADATA'), wheel: text('WHEEL'), record: text('RECORD') }
}

/** The name of the directory must say what METADATA says. @throws Problem('invalid_package') */
function requireOwn(directory: string, { name, version }: PackageFacts): void {
  const stem = directory.replace(/\.dist-info$/i, '')
  const at = stem.lastIndexOf('-')
  if (canonicalName(stem.slice(0, at)) !== name || normalPep440(stem.slice(at + 1)) !== version)
    throw invalid(`the wheel has the directory ${quote(directory)}, and METADATA says ${name} ${version}`)
}
