// Writes a backup archive: a gzip tar of the database dump and of the files that belong to it.
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants } from 'node:zlib'
import { pack } from 'tar-stream'
import { fsyncPath, isMissing } from '../../kernel/files.ts'
import type { StoredBytes } from '../../store/files/pool.ts'
import { gzipMembers } from './gzip-members.ts'
import { ABOUT, createListWriter, LIST, LIST_MODE, type About, type ListWriter, type Totals } from './proof.ts'
import { digestIn } from './read-archive.ts'

/** A file on the disk, or a package file that the caller opened and closes. */
export type ArchiveFile = LocalFile | { name: string; stored: StoredBytes }

export interface LocalFile {
  /** below the top directory */
  name: string
  /** on the disk */
  path: string
  mode: number
  /** bytes from its beginning; by default all */
  sizeBytes?: number
  /** left out when it changed after this time, in milliseconds since 1970 */
  unchangedSince?: number
}

/** What the archive states about itself. */
export interface Proof {
  about: About
  /** path of a new file for the list of entries */
  list: string
  /** called when all files are written */
  totals(): Pick<Totals, 'missing' | 'rows'>
}

export interface Written {
  sizeBytes: number
  sha256: string
}

/** Level for the dump, the log and other text: a better one would take three times as long. */
const LEVEL = constants.Z_BEST_SPEED
/** Packages are already compressed: 100 MiB take 0.5 s of CPU this way; best speed takes 2.8 and saves less than 1 %. */
const LEVEL_OF_PACKAGES = constants.Z_NO_COMPRESSION

/**
 * Streams files into a new archive, flushed to disk. A file that has become shorter since it was opened is an error.
 * @param directories names of directories below the top, written before the files
 * @param onFile called before each file; may throw to stop
 */
export async function writeArchive(
  to: string,
  proof: Proof,
  directories: readonly string[],
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
  const followed = (async function* () {
    for await (const file of files) {
      signal.throwIfAborted()
      onFile()
      level = 'stored' in file ? LEVEL_OF_PACKAGES : LEVEL
      yield file
    }
    level = LEVEL
  })()
  const adding = addEntries(tar, proof, directories, followed).catch((error: unknown) => {
    tar.destroy(error as Error)
    throw error
  })
  // The pipeline also fails with the error of the entry that could not be added.
  const [added, written] = await Promise.allSettled([adding, writing])
  if (added.status === 'rejected' && written.status === 'rejected') throw written.reason ?? added.reason
  if (added.status === 'rejected') throw added.reason
  if (written.status === 'rejected') throw written.reason
  await fsyncPath(to)
  return { sizeBytes, sha256: hash.digest('hex') }
}

/** Adds the entry about the archive, its directories and files, and the list of all these. */
async function addEntries(
  tar: Pack,
  { about, list, totals }: Proof,
  directories: readonly string[],
  files: AsyncIterable<ArchiveFile>,
): Promise<void> {
  const writer = await createListWriter(list)
  try {
    const to: Target = { tar, top: about.name, list: writer }
    await addBytes(to, ABOUT, Buffer.from(`${JSON.stringify(about)}\n`))
    for (const name of ['.', ...directories]) await addDirectory(to, name)
    let packages = 0
    for await (const file of files) {
      if (digestIn(file.name)) packages++
      await addFile(to, file)
    }
    await writer.finish({ packages, ...totals() })
    await addLocal({ ...to, list: null }, { name: LIST, path: list, mode: LIST_MODE })
    tar.finalize()
  } finally {
    await writer.close()
  }
}

type Pack = ReturnType<typeof pack>

interface Target {
  tar: Pack
  top: string
  /** null for the list itself */
  list: ListWriter | null
}

const DIRECTORY_MODE = 0o700

async function addDirectory({ tar, top, list }: Target, name: string): Promise<void> {
  await whole(tar, { name: name === '.' ? `${top}/` : `${top}/${name}/`, mode: DIRECTORY_MODE, type: 'directory' })
  await list?.add({ name, type: 'directory', mode: DIRECTORY_MODE, sizeBytes: 0, sha256: null })
}

async function addFile(to: Target, file: ArchiveFile): Promise<void> {
  if (!('stored' in file)) return addLocal(to, file)
  const { sizeBytes, modifiedAt, mode, stream } = file.stored
  await addStream(to, { name: file.name, mode, size: sizeBytes, mtime: modifiedAt }, stream)
}

async function addLocal(to: Target, local: LocalFile): Promise<void> {
  const { name, path, mode, sizeBytes, unchangedSince } = local
  // All reads use this one file, even when another file takes its name meanwhile.
  const file = await open(path).catch((error: unknown) => {
    if (unchangedSince !== undefined && isMissing(error)) return null
    throw error
  })
  if (!file) return
  try {
    const { size: onDisk, mtime, mtimeMs } = await file.stat()
    if (unchangedSince !== undefined && mtimeMs >= unchangedSince) return
    const size = sizeBytes ?? onDisk
    // Exactly as many bytes as in the header, even when the file has grown.
    await addStream(to, { name, mode, size, mtime }, () =>
      file.createReadStream({ start: 0, end: size - 1, autoClose: false }),
    )
  } finally {
    await file.close()
  }
}

interface Header {
  name: string
  mode: number
  size: number
  mtime: Date
}

/** @param stream not called for an empty entry */
async function addStream({ tar, top, list }: Target, entry: Header, stream: () => Readable): Promise<void> {
  const { name, mode, size } = entry
  const header = { ...entry, name: `${top}/${name}`, type: 'file' as const }
  const hash = createHash('sha256')
  const hashed = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk)
      yield chunk
    }
  }
  if (size === 0) await whole(tar, header)
  else await pipeline(stream(), hashed, tar.entry(header))
  await list?.add({ name, type: 'file', mode, sizeBytes: size, sha256: hash.digest('hex') })
}

async function addBytes(to: Target, name: string, bytes: Buffer): Promise<void> {
  const header = { name, mode: 0o600, size: bytes.length, mtime: new Date() }
  await addStream(to, header, () => Readable.from([bytes], { objectMode: false }))
}

/** Adds an entry without content. */
function whole(tar: Pack, header: Parameters<Pack['entry']>[0]): Promise<void> {
  return new Promise((resolve, reject) => {
    tar.entry(header, '', (error) => (error ? reject(error) : resolve()))
  })
}
