// Compares the package files in the published trees with the offers.
import { join, relative } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Offered } from '../../formats/format.ts'
import { ifMissing } from '../../kernel/files.ts'
import { entriesBelow, pathsOf } from '../../kernel/files-below.ts'
import { treeOf, type Tree } from '../../publish/tree/tree.ts'
import type { Db } from '../../store/db.ts'
import type { Pool } from '../../store/files/pool.ts'
import type { Paths } from '../../store/paths.ts'
import type { Hashing } from './hashing.ts'
import { CHANGING, faulty, SOUND, suspectOf, type Confirm, type Inspection, type Suspect } from './inspection.ts'
import { isPresent, isUnfinished } from './reading.ts'

export interface PublishedDeps {
  db: Db
  paths: Paths
  pool: Pick<Pool, 'published'>
  hashing: Hashing
  /** every distribution with packages, also of formats that are switched off */
  all: readonly Offered[]
}

const BATCH = 500

interface OfferedFile {
  package_id: number
  sha256: string
  filename: string
  size_bytes: number
  name: string
  version: string
  arch: string
}

const COLUMNS = [
  'offers.package_id',
  'offers.sha256',
  'offers.filename',
  'blobs.size_bytes',
  'offers.name',
  'offers.version',
  'offers.arch',
] as const

/** The offers of the current publication; packages accepted since then may not be linked yet. */
const published = (db: Db, codename: string) =>
  db
    .selectFrom('offers')
    .innerJoin('blobs', 'blobs.sha256', 'offers.sha256')
    .select(COLUMNS)
    .where('distribution', '=', codename)
    .where('until_revision', 'is', null)
    .where('from_revision', '<=', (eb) =>
      eb.selectFrom('distributions').select('published_revision').where('codename', '=', codename),
    )

/** Finds package files that are not linked into the tree, or lead to other bytes. */
export function linkedPackages({ db, paths, pool, all }: PublishedDeps): Inspection {
  async function compare(offered: Offered, tree: Tree, file: OfferedFile): Promise<Suspect[]> {
    const { format, distribution } = offered
    const suspects: Suspect[] = []
    for (const path of format.packagePaths(file, distribution)) {
      const link = await pool.published(storedAs(offered, file), join(tree.packages, path))
      const suspect = (fault: 'missing' | 'wrong_content') =>
        suspectOf('tree', relative(paths.root, join(tree.packages, path)), fault, '', {
          distribution: distribution.codename,
          sha256: file.sha256,
          package_id: file.package_id,
        })
      if (link === 'nothing') suspects.push(suspect('missing'))
      // Bytes that the pool lacks are a separate finding.
      if (link === 'others') suspects.push(suspect('wrong_content'))
    }
    return suspects
  }

  return {
    name: 'published packages',
    suspects: (after, signal) =>
      overDistributions(all, after, async function* (offered, last) {
        const tree = treeOf(paths, offered.format, offered.distribution)
        for (let id = Number(last); ;) {
          signal.throwIfAborted()
          const files = await published(db, offered.distribution.codename)
            .where('package_id', '>', id)
            .orderBy('package_id')
            .limit(BATCH)
            .execute()
          if (files.length === 0) return
          const suspects: Suspect[] = []
          for (let at = 0; at < files.length; at += 50) {
            for (const file of files.slice(at, at + 50)) suspects.push(...(await compare(offered, tree, file)))
            await turn()
          }
          id = files.at(-1)!.package_id
          yield { suspects, checked: files.length, after: String(id) }
        }
      }),
  }
}

/** Finds files in the package directories that no offer names. */
export function unknownPackages({ db, paths, all }: PublishedDeps): Inspection {
  return {
    name: 'files in the trees',
    suspects: (after, signal) =>
      overDistributions(all, after, async function* (offered) {
        const tree = treeOf(paths, offered.format, offered.distribution)
        const standing = new Set(tree.standing.map(({ path }) => path))
        for await (const files of pathsOf(entriesBelow(tree.packages), BATCH)) {
          signal.throwIfAborted()
          const names = await namedPaths(db, offered, files)
          const suspects = files
            .filter((path) => !names.has(relative(tree.packages, path)) && !standing.has(path))
            .map((path) =>
              suspectOf('tree', relative(paths.root, path), 'unknown', '', {
                distribution: offered.distribution.codename,
              }),
            )
          yield { suspects, checked: files.length, after: '' }
        }
      }),
  }
}

/** Which of these files an offer names: a current offer, or an ended one whose file may not leave the tree yet. */
export async function namedPaths(
  db: Db,
  { format, distribution }: Offered,
  files: readonly string[],
): Promise<ReadonlySet<string>> {
  const names = [...new Set(files.map((path) => path.slice(path.lastIndexOf('/') + 1)))]
  const { rows } = await sql<{ filename: string; sha256: string; arch: string }>`
    select filename, sha256, arch from offers
    where distribution = ${distribution.codename} and until_revision is null and filename = any(${names}::text[])
    union
    select filename, sha256, arch from offers
    where distribution = ${distribution.codename} and unlink_at is not null and filename = any(${names}::text[])`.execute(
    db,
  )
  return new Set(rows.flatMap((row) => format.packagePaths(row, distribution)))
}

/** Decides about one package file of a tree. */
export function confirmLinked(deps: PublishedDeps): Confirm {
  const { db, paths, pool, all } = deps
  return async ({ subject, distribution: codename, sha256, package_id: id }) => {
    const offered = all.find(({ distribution }) => distribution.codename === codename)
    if (!offered || codename === null) return SOUND
    const path = join(paths.root, subject)
    const tree = treeOf(paths, offered.format, offered.distribution)
    if (id === null || sha256 === null) return confirmUnknown(path, tree, offered)
    const offerOf = () => published(db, codename).where('package_id', '=', id).executeTakeFirst()
    const before = await offerOf()
    // It was unpublished since.
    if (before?.sha256 !== sha256) return SOUND
    const stored = storedAs(offered, before)
    const link = await pool.published(stored, path)
    // Where the file system cannot link, the tree has copies, which are compared by content.
    const isSound = link === 'others' ? (await digestOf(path)) === sha256 : link !== 'nothing'
    const after = await offerOf()
    if (after?.sha256 !== sha256 || (await pool.published(stored, path)) !== link) return CHANGING
    if (isSound) return SOUND
    const more = { distribution: codename, sha256, package_id: id }
    const detail = `the file of ${before.name} ${before.version}`
    return faulty(suspectOf('tree', subject, link === 'nothing' ? 'missing' : 'wrong_link', detail, more))
  }

  async function confirmUnknown(path: string, tree: Tree, offered: Offered) {
    if (!(await isPresent(path))) return SOUND
    // Offers are committed before their files are linked, so this read must follow the first check.
    const named = await namedPaths(db, offered, [path])
    if (named.has(relative(tree.packages, path))) return SOUND
    if (!(await isPresent(path))) return SOUND
    if (await isUnfinished(path)) return CHANGING
    const { codename: distribution } = offered.distribution
    const subject = relative(paths.root, path)
    return faulty(suspectOf('tree', subject, 'unknown', 'no package that is offered has it', { distribution }))
  }

  async function digestOf(path: string): Promise<string | null> {
    const found = await deps.hashing.digest(path).catch(ifMissing(null))
    return found && found.sha256
  }
}

const storedAs = ({ format }: Offered, { sha256, filename, size_bytes: sizeBytes }: OfferedFile) => ({
  format: format.id,
  sha256,
  filename,
  sizeBytes,
})

/** Runs an inspection for each distribution; its cursor is the codename and a position in the distribution. */
export async function* overDistributions<T extends { after: string }>(
  all: readonly Offered[],
  after: string | null,
  each: (offered: Offered, last: string) => AsyncIterable<T>,
): AsyncGenerator<T> {
  const [begun = '', place = ''] = after?.split(' ') ?? []
  const sorted = [...all].sort((a, b) => (a.distribution.codename < b.distribution.codename ? -1 : 1))
  for (const offered of sorted) {
    const { codename } = offered.distribution
    if (codename < begun) continue
    for await (const batch of each(offered, codename === begun ? place : ''))
      yield { ...batch, after: `${codename} ${batch.after}` }
  }
}
