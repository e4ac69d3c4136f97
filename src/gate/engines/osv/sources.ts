// Where OSV records are read from: a zip file, or a directory of JSON and zip files. Knows no database.
import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, readFile, stat } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { zipEntries } from '../../../formats/archive/zip.ts'
import { entriesBelow } from '../../../kernel/files-below.ts'

export interface SourceFile {
  name: string
  read(): Promise<Buffer>
}

export interface AdvisorySource {
  /** where it is, for messages; no path */
  name: string
  /** SHA-256 over all its bytes and names, hex */
  digest(): Promise<string>
  /** every JSON file in it, one at a time; throws when it cannot be read to its end */
  files(): AsyncIterable<SourceFile>
}

/** The largest records, which name some ten thousand versions, are far smaller. */
const LARGEST_RECORD = 64 * 2 ** 20

export function zipSource(path: string): AdvisorySource {
  return {
    name: basename(path),
    async digest() {
      const hash = createHash('sha256')
      await addFile(hash, path)
      return hash.digest('hex')
    },
    async *files() {
      for await (const entry of zipEntries(path, LARGEST_RECORD)) if (entry.name.endsWith('.json')) yield entry
    },
  }
}

/** Reads sub-directories too, so that a copy of the bucket (`<ecosystem>/all.zip`) can be read directly. */
export function directorySource(directory: string): AdvisorySource {
  return {
    name: basename(directory),
    async digest() {
      const hash = createHash('sha256')
      for (const name of await namesIn(directory)) {
        hash.update(`${name}\0`)
        await addFile(hash, join(directory, name))
      }
      return hash.digest('hex')
    },
    async *files() {
      for (const name of await namesIn(directory)) {
        const path = join(directory, name)
        if (name.endsWith('.zip')) yield* zipSource(path).files()
        else yield { name, read: () => readRecordFile(path) }
      }
    },
  }
}

/** Links are not followed. @throws when the directory is missing: that must not look like a directory without advisories */
async function namesIn(directory: string): Promise<string[]> {
  await access(directory)
  const names: string[] = []
  for await (const entry of entriesBelow(directory))
    if (entry.isFile() && /\.(?:json|zip)$/.test(entry.name))
      names.push(relative(directory, join(entry.parentPath, entry.name)))
  return names.sort()
}

async function readRecordFile(path: string): Promise<Buffer> {
  if ((await stat(path)).size > LARGEST_RECORD)
    throw new Error(`${basename(path)} is larger than ${LARGEST_RECORD} bytes`)
  return readFile(path)
}

async function addFile(hash: Hash, path: string): Promise<void> {
  await pipeline(createReadStream(path, { highWaterMark: 2 ** 20 }), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) hash.update(chunk)
  })
}
