// Removes what no client can still be reading: old generations, withdrawn package files, bytes nobody refers to.
import { lstat, readdir, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import type { Checkpoint } from '../../kernel/checkpoint.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isMissing } from '../../kernel/files.ts'
import type { Db } from '../../store/db.ts'
import type { Paths } from '../../store/paths.ts'
import { linkedGeneration, treeOf, type Tree } from './generation.ts'
import type { Offered } from '../../formats/format.ts'

/** A client may hold an index for so long before it fetches what the index names. */
export const GRACE_MS = 15 * 60_000
/** Generations kept besides the live one, however old. */
const KEPT = 2
const BATCH = 200
const TEMPORARY_LINK = /^\..+\.[0-9a-f]{12}$/
const TEMPORARY_FILE = /\.[0-9a-f]{12}\.tmp$/
const WORK_DIRECTORY = /^\.work-/

export interface Collector {
  /** Takes the files out of the tree that no published index names and whose grace time is over. */
  removeUnpublished(codename: string): Promise<void>
  /** Everything; run at start and hourly by the leader. */
  collect(): Promise<void>
}

export function createCollector(parts: {
  db: Db
  clock: Clock
  paths: Paths
  checkpoint: Checkpoint
  offered(codename: string): Offered
  known(codename: string): boolean
}): Collector {
  const { db, clock, paths } = parts
  const isOld = (time: Date) => clock.now().getTime() - time.getTime() > GRACE_MS

  async function withdrawn(codename: string, tree: Tree, { format }: Offered): Promise<void> {
    for (;;) {
      const left = await db.transaction().execute(async (tx) => {
        const distribution = await tx
          .selectFrom('distributions')
          .select('published_revision')
          .where('codename', '=', codename)
          .forUpdate()
          .executeTakeFirst()
        if (!distribution) return 0
        const rows = await tx
          .selectFrom('removals')
          .selectAll()
          .where('distribution', '=', codename)
          .where('revision', '<=', distribution.published_revision)
          .where('removed_at', '<', sql<Date>`now() - ${GRACE_MS / 1000}::int * interval '1 second'`)
          .orderBy('revision')
          .limit(BATCH)
          .execute()
        for (const row of rows) {
          const offered = await tx
            .selectFrom('packages')
            .select(['filename', 'sha256'])
            .where('name', '=', row.name)
            .where('distribution', '=', codename)
            .where('served', '=', true)
            .execute()
          if (offered.some((file) => format.packagePath(file) === row.tree_path)) continue
          const path = join(tree.packages, row.tree_path)
          await rm(path, { force: true })
          if (dirname(path) !== tree.packages) await rmdir(dirname(path)).catch(() => {})
        }
        const last = rows.at(-1)
        if (!last) return 0
        await tx
          .deleteFrom('removals')
          .where(
            'id',
            'in',
            rows.map((row) => row.id),
          )
          .execute()
        await tx
          .updateTable('distributions')
          .set({ removals_floor: sql`greatest(removals_floor, ${last.revision}::bigint)` })
          .where('codename', '=', codename)
          .execute()
        return rows.length
      })
      if (left < BATCH) return
    }
  }

  async function generations(codename: string, tree: Tree): Promise<void> {
    const row = await db
      .selectFrom('distributions')
      .select('generation')
      .where('codename', '=', codename)
      .executeTakeFirst()
    const live = new Set([row?.generation, linkedGeneration(tree.link)])
    const found: { name: string; at: Date }[] = []
    for (const name of await listed(tree.base)) {
      if (!/^r\d+-/.test(name) || live.has(name)) continue
      found.push({ name, at: (await stat(join(tree.base, name))).mtime })
    }
    found.sort((a, b) => b.at.getTime() - a.at.getTime())
    for (const { name, at } of found.slice(KEPT)) {
      if (isOld(at)) await rm(join(tree.base, name), { recursive: true, force: true })
    }
  }

  /** Files that generations share by hard links: one with a single name left belongs to none of them. */
  async function orphans(directory: string, kept: readonly string[] = []): Promise<void> {
    for (const name of await listed(directory)) {
      if (kept.includes(name)) continue
      const info = await stat(join(directory, name)).catch(ignoreMissing)
      if (info?.isFile() && info.nlink === 1 && isOld(info.ctime)) await rm(join(directory, name), { force: true })
    }
  }

  /** What a process that died was about to rename or to fill. */
  async function unfinished(directory: string, pattern: RegExp): Promise<void> {
    for (const name of await listed(directory)) {
      if (!pattern.test(name)) continue
      const info = await lstat(join(directory, name)).catch(ignoreMissing)
      if (info && isOld(info.mtime)) await rm(join(directory, name), { recursive: true, force: true })
    }
  }

  return {
    async removeUnpublished(codename) {
      const offered = parts.offered(codename)
      await withdrawn(codename, treeOf(paths, offered.format, offered.distribution), offered)
    },
    async collect() {
      const rows = await db
        .selectFrom('distributions')
        .select(['codename', 'background_indexes'])
        .where('initialized_at', 'is not', null)
        .execute()
      for (const { codename, background_indexes } of rows) {
        if (!parts.known(codename)) continue
        const offered = parts.offered(codename)
        const tree = treeOf(paths, offered.format, offered.distribution)
        await withdrawn(codename, tree, offered)
        await generations(codename, tree)
        await orphans(join(tree.byHash, 'SHA256'))
        await orphans(
          tree.background,
          background_indexes.map((index) => index.sha256),
        )
        await unfinished(dirname(tree.link), TEMPORARY_LINK)
        await unfinished(tree.base, TEMPORARY_FILE)
        await unfinished(tree.packages, TEMPORARY_FILE)
        await unfinished(tree.background, WORK_DIRECTORY)
      }
      parts.checkpoint('collected')
    },
  }
}

function ignoreMissing(error: unknown): null {
  if (isMissing(error)) return null
  throw error
}

async function listed(directory: string): Promise<string[]> {
  try {
    return await readdir(directory)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
