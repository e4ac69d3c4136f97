// Removes what no client can still be reading: old generations, withdrawn package files, bytes nobody refers to.
import { readdir, readlink, rm, rmdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { sql } from 'kysely'
import type { FormatId } from '../domain/package.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import type { Clock } from '../kernel/clock.ts'
import { isMissing } from '../kernel/files.ts'
import type { Db } from '../store/db.ts'
import type { Manifests } from '../store/manifests.ts'
import type { Paths } from '../store/paths.ts'
import type { Pool } from '../store/pool.ts'
import { treeOf, type Tree } from './generation.ts'
import type { Offered } from './publisher.ts'

/** A client may hold an index for so long before it fetches what the index names. */
export const GRACE_MS = 15 * 60_000
/** Generations kept besides the live one, however old. */
const KEPT = 2
const BATCH = 200

export interface Collector {
  /** Removes manifests and bytes of deleted records. */
  debris(): Promise<void>
  /** Everything; run at start and hourly by the leader. */
  collect(): Promise<void>
}

export function createCollector(parts: {
  db: Db
  clock: Clock
  paths: Paths
  pool: Pool
  manifests: Manifests
  checkpoint: Checkpoint
  offered(codename: string): Offered
  known(codename: string): boolean
}): Collector {
  const { db, clock, paths, pool, manifests } = parts
  const isOld = (time: Date) => clock.now().getTime() - time.getTime() > GRACE_MS

  async function debris(): Promise<void> {
    for (;;) {
      const rows = await db.selectFrom('debris').selectAll().orderBy('id').limit(BATCH).execute()
      for (const row of rows) {
        if (row.kind === 'manifest') await removeManifest(row.key)
        else await removeBlob(row.key)
        await db.deleteFrom('debris').where('id', '=', row.id).execute()
      }
      if (rows.length < BATCH) return
    }
  }

  /** The same name may have been uploaded again since: its manifest is then written anew. */
  async function removeManifest(key: string): Promise<void> {
    await manifests.remove(key)
    parts.checkpoint('manifest-removed')
    const [distribution = ''] = key.split('/')
    const name = decodeURIComponent(basename(key, '.json')).split('_')[0] ?? ''
    const back = await db.selectFrom('packages').selectAll().where('distribution', '=', distribution).where('name', '=', name).execute()
    const ids = back.filter((row) => manifests.key(row) === key).map((row) => row.id)
    if (ids.length > 0) await manifests.write(ids)
  }

  /** The row's lock orders this against an upload of the same bytes, which looks for them again after its commit. */
  async function removeBlob(sha256: string): Promise<void> {
    await db.transaction().execute(async (tx) => {
      const blob = await tx.selectFrom('blobs').select('format').where('sha256', '=', sha256).forUpdate().executeTakeFirst()
      const used = await tx.selectFrom('packages').select('id').where('sha256', '=', sha256).limit(1).executeTakeFirst()
      if (!blob || used) return
      await tx.deleteFrom('blobs').where('sha256', '=', sha256).execute()
      await pool.forgetAll(blob.format as FormatId, sha256)
    })
  }

  async function withdrawn(codename: string, tree: Tree, { format }: Offered): Promise<void> {
    for (;;) {
      const left = await db.transaction().execute(async (tx) => {
        const distribution = await tx.selectFrom('distributions').select('published_revision').where('codename', '=', codename).forUpdate().executeTakeFirst()
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
          const offered = await tx.selectFrom('packages').select(['filename', 'sha256']).where('name', '=', row.name).where('distribution', '=', codename).where('served', '=', true).execute()
          if (offered.some((file) => format.packagePath(file) === row.tree_path)) continue
          const path = join(tree.packages, row.tree_path)
          await rm(path, { force: true })
          if (dirname(path) !== tree.packages) await rmdir(dirname(path)).catch(() => {})
        }
        const last = rows.at(-1)
        if (!last) return 0
        await tx.deleteFrom('removals').where('id', 'in', rows.map((row) => row.id)).execute()
        await tx.updateTable('distributions').set({ removals_floor: last.revision }).where('codename', '=', codename).execute()
        return rows.length
      })
      if (left < BATCH) return
    }
  }

  async function generations(codename: string, tree: Tree): Promise<void> {
    const row = await db.selectFrom('distributions').select('generation').where('codename', '=', codename).executeTakeFirst()
    const live = new Set([row?.generation, await linked(tree.link)])
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
  async function orphans(directory: string): Promise<void> {
    for (const name of await listed(directory)) {
      const info = await stat(join(directory, name))
      if (info.isFile() && info.nlink === 1 && isOld(info.ctime)) await rm(join(directory, name), { force: true })
    }
  }

  return {
    debris,
    async collect() {
      await debris()
      const rows = await db.selectFrom('distributions').select('codename').where('initialized_at', 'is not', null).execute()
      for (const { codename } of rows) {
        if (!parts.known(codename)) continue
        const offered = parts.offered(codename)
        const tree = treeOf(paths, offered.format, offered.distribution)
        await withdrawn(codename, tree, offered)
        await generations(codename, tree)
        await orphans(join(tree.byHash, 'SHA256'))
        await orphans(tree.extras)
      }
      parts.checkpoint('collected')
    },
  }
}

/** The generation a link leads to; null when there is no link. */
async function linked(link: string): Promise<string | null> {
  try {
    return (await readlink(link)).split('/').find((part) => /^r\d+-/.test(part)) ?? null
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'EINVAL') return null
    throw error
  }
}

async function listed(directory: string): Promise<string[]> {
  try {
    return await readdir(directory)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
