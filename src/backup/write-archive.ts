// Writes a backup archive: a gzip tar of the database dump and of the files that belong to it.
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants } from 'node:zlib'
import { pack } from 'tar-stream'
import { fsyncPath, isMissing } from '../kernel/files.ts'
import type { StoredBytes } from '../store/files/pool.ts'
import { gzipMembers } from './gzip-members.ts'

/** A file on the disk, or a package file that the caller opened and closes. */
export type ArchiveFile = LocalFile | { name: string; stored: StoredBytes }

export interface LocalFile {
  /** below the top directory */
  name: string
  /** on the disk */
  path: string
  mode: number
  /** bytes from its beginning; all without it */
  sizeBytes?: number
  /** left out when it was changed since, in milliseconds since 1970 */
  unchangedSince?: number
}

export interface Written {
  sizeBytes: number
  sha256: string
}

/** Of the dump, the log and what else is text: a better level would take three times as long. */
const LEVEL = constants.Z_BEST_SPEED
/** Packages are compressed already: 100 MiB take 0.5 s of CPU in this way, and 2.8 at best speed for less than 1 %. */
const LEVEL_OF_PACKAGES = constants.Z_NO_COMPRESSION

/**
 * Streams files into a new archive, flushed to disk. A file that is shorter than it was when it was opened is an error.
 * @param directories names of directories below `top`, written first
 * @param onFile called before each file; may throw to stop
 */
export async function writeArchive(
  to: string,
  top: string,
  directories: readonly { name: string; mode: number }[],
  files: AsyncIterable<ArchiveFile>,
  { signal, onFile }: { signal: AbortSignal; onFile(): void },
): Promise<Written> {
  const tar = pack()
  const hash = createHash('sha256')
  let sizeBytes = 0
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sizeBytes += chunk.length
      hash.update(chunk)
      done(null, chunk)
    },
  })
  const output = createWriteStream(to, { flags: 'wx', mode: 0o600 })
  let level: number = LEVEL
  const compress = (chunks: AsyncIterable<Buffer>) => gzipMembers(chunks, () => level)
  const writing = pipeline(tar as AsyncIterable<Buffer>, compress, counted, output, { signal })
  const adding = (async () => {
    try {
      await addDirectory(tar, `${top}/`, 0o700)
      for (const { name, mode } of directories) await addDirectory(tar, `${top}/${name}/`, mode)
      for await (const file of files) {
        signal.throwIfAborted()
        onFile()
        level = 'stored' in file ? LEVEL_OF_PACKAGES : LEVEL
        await addFile(tar, `${top}/${file.name}`, file)
      }
      tar.finalize()
    } catch (error) {
      tar.destroy(error as Error)
      throw error
    }
  })()
  // The pipeline fails with the error of the entry that could not be added.
  const [added, written] = await Promise.allSettled([adding, writing])
  if (added.status === 'rejected' && written.status === 'rejected') throw written.reason ?? added.reason
  if (added.status === 'rejected') throw added.reason
  if (written.status === 'rejected') throw written.reason
  await fsyncPath(to)
  return { sizeBytes, sha256: hash.digest('hex') }
}

type Pack = ReturnType<typeof pack>

function addDirectory(tar: Pack, name: string, mode: number): Promise<void> {
  return new Promise((resolve, reject) => {
    tar.entry({ name, mode, type: 'directory' }, (error) => (error ? reject(error) : resolve()))
  })
}

function addEmpty(tar: Pack, header: Parameters<Pack['entry']>[0]): Promise<void> {
  return new Promise((resolve, reject) => {
    tar.entry(header, '', (error) => (error ? reject(error) : resolve()))
  })
}

async function addFile(tar: Pack, name: string, file: ArchiveFile): Promise<void> {
  if ('stored' in file) await addStored(tar, name, file.stored)
  else await addLocal(tar, name, file)
}

async function addStored(tar: Pack, name: string, stored: StoredBytes): Promise<void> {
  const { sizeBytes, modifiedAt, mode } = stored
  const header = { name, mode, size: sizeBytes, mtime: modifiedAt, type: 'file' as const }
  if (sizeBytes === 0) await addEmpty(tar, header)
  else await pipeline(stored.stream(), tar.entry(header))
}

async function addLocal(tar: Pack, name: string, local: LocalFile): Promise<void> {
  const { path, mode, sizeBytes, unchangedSince } = local
  // One file, even when another takes its name meanwhile.
  const file = await open(path).catch((error: unknown) => {
    if (unchangedSince !== undefined && isMissing(error)) return null
    throw error
  })
  if (!file) return
  try {
    const { size: onDisk, mtime, mtimeMs } = await file.stat()
    if (unchangedSince !== undefined && mtimeMs >= unchangedSince) return
    const size = sizeBytes ?? onDisk
    const header = { name, mode, size, mtime, type: 'file' as const }
    if (size === 0) {
      await addEmpty(tar, header)
      return
    }
    // Exactly as many bytes as the header says, also of a file that has grown.
    await pipeline(file.createReadStream({ start: 0, end: size - 1, autoClose: false }), tar.entry(header))
  } finally {
    await file.close()
  }
}
