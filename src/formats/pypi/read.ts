// Reads the facts of a wheel or a source distribution.
import { readPiece } from '../archive/file-range.ts'
import { invalid } from '../archive/limits.ts'
import type { PackageFacts } from '../../domain/package.ts'
import type { Member, ReadOptions } from '../ecosystem.ts'
import { filenameOf, readFilename } from './names.ts'
import type { PypiRecord } from './record.ts'
import { readTarball, readZippedSource, tarballMembers } from './sdist.ts'
import { hasDescription, membersOf, readWheel } from './wheel.ts'

const isZip = (head: Uint8Array) => head[0] === 0x50 && head[1] === 0x4b && head[2] === 3 && head[3] === 4
const isGzip = (head: Uint8Array) => head[0] === 0x1f && head[1] === 0x8b

export const recognizes = (head: Uint8Array): boolean => isZip(head) || isGzip(head)

/** A file system takes names of 255 bytes; the pool adds nothing to them. */
const LONGEST_FILENAME = 240

/** @throws Problem('invalid_package') */
export async function readPypi(path: string, options: ReadOptions = {}): Promise<PackageFacts<PypiRecord>> {
  const facts = await readAny(path, options)
  const filename = filenameOf(facts.name, facts.version, facts.record.file)
  const inverted = readFilename(filename)
  if (filename.length > LONGEST_FILENAME || inverted?.name !== facts.name || inverted.version !== facts.version)
    throw invalid('no file name can be made from its name, version and tags')
  return facts
}

async function readAny(path: string, options: ReadOptions): Promise<PackageFacts<PypiRecord>> {
  const head = await readPiece(path, 0, 4)
  if (isGzip(head)) return readTarball(path, options)
  if (!isZip(head)) throw invalid('the file is neither a wheel nor a source distribution')
  return (await hasDescription(path, options)) ? readWheel(path, options) : readZippedSource(path, options)
}

/** Every file inside, for scanners. @throws Problem('invalid_package') */
export async function* pypiMembers(path: string, options: ReadOptions = {}): AsyncGenerator<Member> {
  yield* isGzip(await readPiece(path, 0, 4)) ? tarballMembers(path, options) : membersOf(path, options)
}
