// Removes files that the rows name and no client can still be reading: old generations, package files that are not offered any more.
import { rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { GRACE_MS } from '../../domain/grace.ts'
import type { Offered } from '../../formats/format.ts'
import type { Clock } from '../../kernel/clock.ts'
import { createKeyed } from '../../kernel/keyed.ts'
import type { Db } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'
import type { Paths } from '../../store/paths.ts'
import { claimCleaning, cleaningEnded, endCleaning, isBeingCleaned, type Claim } from './cleaning-claim.ts'
import { linkedGeneration, treeOf, type Tree } from './tree.ts'
import { removeGeneration, removeUnlinked } from './shared-files.ts'
import { boundAt, createMeasure, FEWEST, MOST, removableGenerations, type Bound, type Contents } from './superseded.ts'

/** Files removed under one claim: removing 200 takes 20-200 ms. */
const BATCH = 200

export interface Cleaner {
  /** Codenames of distributions with something to remove; when disk space is short, of all with older generations. */
  due(bound?: Bound): Promise<string[]>
  /**
   * Removes package files and generations of one distribution, according to the rows: package files whose grace time is over,
   * generations whose grace time is over or that exceed the bound.
   * @param bound by default what the free space of the disk allows
   */
  clean(codename: string, bound?: Bound): Promise<void>
  /** The current limit for the superseded generations of a distribution. */
  bound(): Promise<Bound>
}

interface Work {
  claim: Claim
  /** files of packages that are no longer offered, each with the offer it belonged to */
  files: { id: number; from: number; paths: string[] }[]
  generations: string[]
}

export function createCleaner(deps: {
  db: Db
  clock: Clock
  paths: Paths
  offered(codename: string): Offered
  onError(error: unknown): void
  /** for tests */
  mostSuperseded?: Bound
}): Cleaner {
  const { db, clock } = deps
  const most = deps.mostSuperseded ?? MOST
  const bound = () => boundAt(deps.paths.root, most)
  const measureOf = createKeyed(createMeasure)

  async function clean(codename: string, given?: Bound): Promise<void> {
    const offered = deps.offered(codename)
    const tree = treeOf(deps.paths, offered.format, offered.distribution)
    const failed = new Set<number | string>()
    for (;;) {
      const measured = await measureAll(codename, tree)
      const work = await claimWork(codename, offered, failed, measured, given ?? (await bound()))
      if (work === 'busy') await cleaningEnded(db, codename)
      else if (work === 'nothing') return
      else await carryOut(codename, tree, work, failed)
    }
  }

  /** Not under the row's lock, because it reads directories. Generations superseded meanwhile are left for the next run. */
  async function measureAll(codename: string, tree: Tree): Promise<ReadonlyMap<string, Contents>> {
    const { rows } = await sql<{ generation: string }>`
      select generation from superseded_generations where distribution = ${codename}
      union select generation from distributions where codename = ${codename} and generation is not null`.execute(db)
    return measureOf(tree.base)(rows.map(({ generation }) => generation))
  }

  /** Lists what may be removed and claims it, in one transaction. @param failed what could not be removed in this run */
  async function claimWork(
    codename: string,
    { format, distribution }: Offered,
    failed: ReadonlySet<number | string>,
    measured: ReadonlyMap<string, Contents>,
    allowed: Bound,
  ): Promise<Work | 'busy' | 'nothing'> {
    return transaction(db, async (tx) => {
      const row = await tx
        .selectFrom('distributions')
        .select(['published_revision', 'generation', isBeingCleaned.as('isBusy')])
        .where('codename', '=', codename)
        .forUpdate()
        .executeTakeFirst()
      if (!row) return 'nothing'
      if (row.isBusy) return 'busy'
      const ids = [...failed].filter((one) => typeof one === 'number')
      const ended = await tx
        .selectFrom('offers')
        .select(['package_id', 'from_revision', 'name', 'filename', 'sha256', 'arch'])
        .where('distribution', '=', codename)
        .where('until_revision', '<=', row.published_revision)
        .where('unlink_at', '<', sql<Date>`now()`)
        .where(sql<boolean>`package_id <> all(${ids}::bigint[])`)
        .orderBy('until_revision')
        .limit(BATCH)
        .execute()
      const superseded = await tx
        .selectFrom('superseded_generations')
        .select(['generation', 'superseded_at as supersededAt'])
        .where('distribution', '=', codename)
        .execute()
      const contentsOf = (generation: string | null) => measured.get(generation ?? '')
      const live = contentsOf(row.generation)
      const generations = removableGenerations(superseded, clock.now(), allowed, contentsOf, live)
        .filter((name) => name !== row.generation && !failed.has(name))
        .slice(0, BATCH)
      if (ended.length + generations.length === 0) return 'nothing'
      const names = [...new Set(ended.map(({ name }) => name))]
      const offeredNow = await tx
        .selectFrom('offers')
        .select(['filename', 'sha256', 'arch'])
        .where('name', 'in', names.length > 0 ? names : [''])
        .where('distribution', '=', codename)
        .where('until_revision', 'is', null)
        .execute()
      const kept = new Set(offeredNow.flatMap((file) => format.packagePaths(file, distribution)))
      return {
        claim: await claimCleaning(tx, codename),
        files: ended.map((one) => ({
          id: one.package_id,
          from: one.from_revision,
          paths: format.packagePaths(one, distribution).filter((path) => !kept.has(path)),
        })),
        generations,
      }
    })
  }

  async function carryOut(codename: string, tree: Tree, work: Work, failed: Set<number | string>): Promise<void> {
    const done = { files: [] as Work['files'], generations: [] as string[] }
    const attempt = async (key: number | string, remove: () => Promise<void>): Promise<boolean> => {
      work.claim.check()
      try {
        await remove()
        return true
      } catch (error) {
        failed.add(key)
        deps.onError(error)
        return false
      }
    }
    try {
      for (const file of work.files) {
        const remove = async () => {
          for (const path of file.paths) await removePackage(tree, path)
        }
        if (await attempt(file.id, remove)) done.files.push(file)
      }
      const linked = await linkedGeneration(tree.link)
      const shared = new Set<number>()
      for (const name of work.generations) {
        // After a power loss the link may lead to a superseded generation.
        if (name === linked) failed.add(name)
        else if (await attempt(name, () => removeGeneration(join(tree.base, name), shared))) done.generations.push(name)
      }
      await removeUnlinked(join(tree.byHash, 'SHA256'), work.claim, ({ ino }) => shared.has(ino))
    } finally {
      await noteDone(codename, work.claim, done)
    }
  }

  async function noteDone(
    codename: string,
    claim: Claim,
    { files, generations }: Pick<Work, 'files' | 'generations'>,
  ): Promise<void> {
    await transaction(db, async (tx) => {
      if (!(await endCleaning(tx, codename, claim))) return
      if (files.length > 0)
        await sql`update offers set unlink_at = null
          from unnest(${files.map(({ id }) => id)}::bigint[], ${files.map(({ from }) => from)}::bigint[]) as gone (id, revision)
          where package_id = gone.id and from_revision = gone.revision`.execute(tx)
      if (generations.length > 0)
        await tx
          .deleteFrom('superseded_generations')
          .where('distribution', '=', codename)
          .where('generation', 'in', generations)
          .execute()
    })
  }

  return {
    bound,
    async due(given) {
      // Generations beyond the full bound are removed after the publish that exceeded it.
      const isShort = (given ?? (await bound())).bytes < most.bytes
      const { rows } = await sql<{ distribution: string }>`
        select distribution from superseded_generations where superseded_at < ${new Date(clock.now().getTime() - GRACE_MS)}::timestamptz
        union select distribution from superseded_generations where ${isShort} group by distribution having count(*) > ${FEWEST}
        union select distribution from offers where unlink_at < now()`.execute(db)
      return rows.map((row) => row.distribution)
    },
    clean,
  }
}

async function removePackage(tree: Tree, path: string): Promise<void> {
  const file = join(tree.packages, path)
  await rm(file, { force: true })
  if (dirname(file) !== tree.packages) await rmdir(dirname(file)).catch(() => {})
}
