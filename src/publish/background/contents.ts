// Background index of files by package (deb `Contents`), made when a distribution was not published for a while.
import { createWriteStream } from 'node:fs'
import { mkdtemp, rename, rm, stat } from 'node:fs/promises'
import { createHash, type Hash } from 'node:crypto'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createGzip, gunzip } from 'node:zlib'
import { archsIn } from '../../formats/architectures.ts'
import type { Offered } from '../../formats/format.ts'
import { sha256OfFile } from '../../kernel/digests.ts'
import { ensureDirectory, exists, fsyncPath } from '../../kernel/files.ts'
import { createPacer } from '../../kernel/pacer.ts'
import { BEFORE_ALL, nextOffers } from '../../store/records/served-query.ts'
import type { Db } from '../../store/db.ts'
import type { Paths } from '../../store/paths.ts'
import type { BackgroundIndexRow } from '../../store/tables.ts'
import type { Publisher } from '../publisher.ts'
import { treeOf } from '../tree/tree.ts'
import type { BackgroundIndex } from './background-index.ts'
import { noteBackgroundIndexes } from './note-index.ts'
import { sortLines } from './sort-lines.ts'

/** Packages read at a time; a list of files is up to 400 kB compressed. */
const BATCH = 50
/** After a run, a distribution waits this many times as long as the run took: the index costs at most 5 % of a processor. */
const REST = 20

export interface ContentsDeps {
  db: Db
  paths: Paths
  publisher: Pick<Publisher, 'converge'>
}

export function createContents({ db, paths, publisher }: ContentsDeps): BackgroundIndex {
  /** end of the waiting time by codename, on the clock of `performance` */
  const restsUntil = new Map<string, number>()

  /** @returns the revision to make it from, and the path for each architecture; null when it is not due */
  async function dueFor({ format, distribution }: Offered) {
    const { contents } = format
    if (!contents) return null
    const { codename } = distribution
    if (performance.now() < (restsUntil.get(codename) ?? 0)) return null
    const row = await db
      .selectFrom('distributions')
      .select(['revision', 'background_indexes'])
      .where('codename', '=', codename)
      .executeTakeFirst()
    if (!row) return null
    const { background } = treeOf(paths, format, distribution)
    const places = distribution.architectures.map((arch) => ({ arch, path: contents.path(distribution, arch) }))
    const isCurrent = async (path: string) => {
      const known = row.background_indexes.find((index) => index.path === path)
      return known !== undefined && known.revision >= row.revision && (await exists(join(background, known.sha256)))
    }
    if ((await Promise.all(places.map(({ path }) => isCurrent(path)))).every(Boolean)) return null
    return { revision: row.revision, background, places }
  }

  return {
    name: 'Contents',
    isDue: async (offered) => (await dueFor(offered)) !== null,
    async make(offered, signal) {
      const due = await dueFor(offered)
      if (!due) return false
      const { codename } = offered.distribution
      const began = performance.now()
      try {
        const indexes = []
        for (const { arch, path } of due.places)
          indexes.push({ path, ...(await write(linesOf(db, offered, arch, signal), due.background)) })
        await noteBackgroundIndexes(db, codename, [], indexes, due.revision)
      } finally {
        const now = performance.now()
        restsUntil.set(codename, now + REST * (now - began))
      }
      await publisher.converge(codename)
      return true
    },
  }
}

/**
 * Sorts, joins and compresses the lines into a file named by its digest.
 *
 * 1,000,000 lines take 8 s of processor time, gzip included (before: 1,200,000 took 12.5); the longest turn of the event loop
 * is one sorted run (before: 2.0 s). Lines are in at most 128 files at a time, so memory does not grow with their number.
 */
export async function write(
  lines: AsyncIterable<string>,
  directory: string,
): Promise<Pick<BackgroundIndexRow, 'sizeBytes' | 'sha256' | 'plain'>> {
  await ensureDirectory(directory)
  const work = await mkdtemp(join(directory, '.work-'))
  try {
    const made = join(work, 'contents.gz')
    const plain = { sizeBytes: 0, digest: createHash('sha256') }
    const texts = counted(joinNames(sortLines(lines, work)), plain)
    await pipeline(Readable.from(texts), createGzip(), createWriteStream(made))
    await fsyncPath(made)
    const sha256 = await sha256OfFile(made)
    const { size } = await stat(made)
    await rename(made, join(directory, sha256))
    await fsyncPath(directory)
    // apt 2.6 fetches the list only when the Release names the uncompressed list too.
    return { sizeBytes: size, sha256, plain: { sizeBytes: plain.sizeBytes, sha256: plain.digest.digest('hex') } }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function* counted(
  texts: AsyncIterable<string>,
  total: { sizeBytes: number; digest: Hash },
): AsyncGenerator<Buffer> {
  for await (const text of texts) {
    const bytes = Buffer.from(text)
    total.sizeBytes += bytes.byteLength
    total.digest.update(bytes)
    yield bytes
  }
}

const unzip = promisify(gunzip)

async function* linesOf(
  db: Db,
  { format, distribution }: Offered,
  arch: string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const pace = createPacer()
  for (let after = BEFORE_ALL; ;) {
    signal.throwIfAborted()
    const rows = await nextOffers(db, distribution.codename, after, BATCH)
      .innerJoin('blobs', 'blobs.sha256', 'offers.sha256')
      .select(['offers.name', 'package_id', 'facts', 'files'])
      .where('arch', 'in', archsIn(format, arch))
      .execute()
    for (const { facts, files } of rows) {
      const text = (await unzip(files)).toString()
      if (text === '') continue
      for (const line of format.contents?.lines({ ...facts, files: text.split('\n') }) ?? []) {
        yield line
        await pace()
      }
    }
    if (rows.length < BATCH) return
    after = rows.at(-1) ?? after
  }
}

/** Joins sorted lines `path\tname` into one line for each path, with its names separated by commas. @returns text in pieces */
export async function* joinNames(batches: AsyncIterable<string[]>): AsyncGenerator<string> {
  let path: string | null = null
  let names = new Set<string>()
  for await (const lines of batches) {
    const texts: string[] = []
    for (const line of lines) {
      const tab = line.lastIndexOf('\t')
      const next = line.slice(0, tab)
      if (next !== path) {
        if (path !== null) texts.push(lineFor(path, names))
        path = next
        names = new Set()
      }
      names.add(line.slice(tab + 1))
    }
    if (texts.length > 0) yield texts.join('')
  }
  if (path !== null) yield lineFor(path, names)
}

const lineFor = (path: string, names: ReadonlySet<string>) => `${path.padEnd(59)} ${[...names].join(',')}\n`
