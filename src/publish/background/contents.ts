// Lists of files by package (deb `Contents`), made behind the packages when a distribution has been quiet for a while.
import { createReadStream, createWriteStream } from 'node:fs'
import { chmod, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createHash, randomBytes, type Hash } from 'node:crypto'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { Readable } from 'node:stream'
import { ensureDirectory, exists, fsyncPath } from '../../kernel/files.ts'
import type { Db } from '../../store/db.ts'
import { unpackFacts } from '../../store/files/blobs.ts'
import type { Paths } from '../../store/paths.ts'
import { treeOf } from '../tree/generation.ts'
import type { Offered } from '../../formats/format.ts'
import type { Publisher } from '../publisher.ts'

/** Lines sorted at once: 20,000 take 20 ms of the event loop. */
const RUN = 20_000
const BATCH = 200

/**
 * Makes the distribution's list anew when packages changed since the last one, and publishes it.
 * @returns whether it did
 */
export async function refreshContents(db: Db, paths: Paths, publisher: Publisher, offered: Offered): Promise<boolean> {
  const { format, distribution } = offered
  if (!format.contents) return false
  const codename = distribution.codename
  const row = await db
    .selectFrom('distributions')
    .select(['revision', 'background_indexes'])
    .where('codename', '=', codename)
    .executeTakeFirst()
  const path = format.contents.path(distribution)
  const known = row?.background_indexes.find((extra) => extra.path === path)
  const tree = treeOf(paths, format, distribution)
  if (!row || (known && known.revision >= row.revision && (await exists(join(tree.background, known.sha256)))))
    return false
  await ensureDirectory(tree.background)
  const work = await mkdtemp(join(tree.background, '.work-'))
  try {
    const made = join(work, 'contents.gz')
    const lines = merge(await sortedRuns(linesOf(db, offered), work))
    const plain = { sizeBytes: 0, digest: createHash('sha256') }
    await pipeline(Readable.from(counted(joined(lines), plain)), createGzip(), createWriteStream(made))
    // Served, where the umask of the process closes new files.
    await chmod(made, 0o644)
    await fsyncPath(made)
    const digest = createHash('sha256')
    for await (const chunk of createReadStream(made)) digest.update(chunk as Buffer)
    const sha256 = digest.digest('hex')
    const { size } = await stat(made)
    await rename(made, join(tree.background, sha256))
    await fsyncPath(tree.background)
    // The list itself raises the revision: it tells of everything before.
    await db
      .updateTable('distributions')
      .set((eb) => ({
        revision: eb('revision', '+', 1),
        background_indexes: JSON.stringify([
          // apt 2.6 fetches the list only when the Release names the uncompressed one too.
          {
            path,
            sizeBytes: size,
            sha256,
            plain: { sizeBytes: plain.sizeBytes, sha256: plain.digest.digest('hex') },
            revision: row.revision + 1,
          },
        ]),
      }))
      .where('codename', '=', codename)
      .where('revision', '=', row.revision)
      .execute()
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  await publisher.converge(codename)
  return true
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

async function* linesOf(db: Db, { format, distribution }: Offered): AsyncGenerator<string> {
  for (let after = 0; ;) {
    const rows = await db
      .selectFrom('packages')
      .innerJoin('blobs', 'blobs.sha256', 'packages.sha256')
      .select(['packages.id', 'blobs.facts', 'blobs.files'])
      .where('packages.distribution', '=', distribution.codename)
      .where('packages.served', '=', true)
      .where('packages.id', '>', after)
      .orderBy('packages.id')
      .limit(BATCH)
      .execute()
    for (const row of rows) yield* format.contents?.lines(unpackFacts(row)) ?? []
    if (rows.length < BATCH) return
    after = rows.at(-1)?.id ?? after
  }
}

/** Sorts by code unit into files of `RUN` lines each. */
async function sortedRuns(lines: AsyncIterable<string>, directory: string): Promise<string[]> {
  const files: string[] = []
  let run: string[] = []
  const flush = async () => {
    const file = join(directory, randomBytes(6).toString('hex'))
    await writeFile(file, run.sort().join('\n') + '\n')
    files.push(file)
    run = []
  }
  for await (const line of lines) {
    run.push(line)
    if (run.length === RUN) await flush()
  }
  if (run.length > 0) await flush()
  return files
}

async function* merge(files: readonly string[]): AsyncGenerator<string> {
  const heads: { line: string; rest: AsyncIterator<string> }[] = []
  for (const file of files) {
    const rest = createInterface({ input: createReadStream(file), crlfDelay: Infinity })[Symbol.asyncIterator]()
    const first = await rest.next()
    if (!first.done) heads.push({ line: first.value, rest })
  }
  while (heads.length > 0) {
    let least = 0
    for (let i = 1; i < heads.length; i++) if ((heads[i]?.line ?? '') < (heads[least]?.line ?? '')) least = i
    const head = heads[least] as (typeof heads)[number]
    yield head.line
    const next = await head.rest.next()
    if (next.done) heads.splice(least, 1)
    else head.line = next.value
  }
}

/** `path\tname` lines of one path become one line, as the repository format wants it: names joined by commas. */
async function* joined(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let path: string | null = null
  let names: string[] = []
  const text = () => `${(path ?? '').padEnd(59)} ${[...new Set(names)].join(',')}\n`
  for await (const line of lines) {
    const tab = line.lastIndexOf('\t')
    if (line.slice(0, tab) !== path) {
      if (path !== null) yield text()
      path = line.slice(0, tab)
      names = []
    }
    names.push(line.slice(tab + 1))
  }
  if (path !== null) yield text()
}
