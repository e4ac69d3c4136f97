// The one change that clients see: the rename that makes a generation live, and the date in its Release.
import { randomBytes } from 'node:crypto'
import { basename, dirname, join, relative } from 'node:path'
import { sql, type Selectable } from 'kysely'
import type { Distribution } from '../domain/package.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import type { Clock } from '../kernel/clock.ts'
import { ensureDirectory, exists, fsyncPath, removeFile } from '../kernel/files.ts'
import { renameName, symlinkName } from '../kernel/names.ts'
import type { Db } from '../store/db.ts'
import type { PublicationsTable } from '../store/tables.ts'
import { ensureStanding, linkedGeneration, releaseDateOf, type Tree } from './tree/tree.ts'

const AHEAD_SECONDS = 4

export type Publication = Omit<Selectable<PublicationsTable>, 'distribution' | 'published_at'>

export interface Flip {
  /**
   * The Release date in seconds, committed before it is used: a crash right after the rename must not lead to an older one.
   * It only grows, because apt silently ignores an index older than its own. apt refuses a date more than 10 s in
   * the future (Acquire::Max-FutureTime), so in a burst of more than one publish a second the date stays
   * `AHEAD_SECONDS` ahead of the clock. apt accepts an index of equal date.
   */
  reserveDate(): Promise<number>
  /**
   * Makes a written generation live, under the distribution's row lock: publication only moves forward, whichever replica
   * publishes.
   * @param publication the row that is stored about it
   * @param cleanings number of cleanings when the state was read; a later cleaning may have removed files that the generation
   * needs
   */
  flip(publication: Publication, cleanings: number): Promise<'published' | 'overtaken'>
}

export function createFlip(
  { db, clock, checkpoint }: { db: Db; clock: Clock; checkpoint: Checkpoint },
  tree: Tree,
  distribution: Distribution,
): Flip {
  const { codename } = distribution

  async function reserveDate(): Promise<number> {
    const now = Math.floor(clock.now().getTime() / 1000)
    // A lost or restored database may have an older date than clients have seen.
    const seen = releaseDateOf(await linkedGeneration(tree.link))
    const row = await db
      .updateTable('distributions')
      .set({
        release_date: sql`greatest(${seen}::bigint, case when release_date < ${now + AHEAD_SECONDS}::bigint then greatest(${now}::bigint, release_date + 1) else release_date end)`,
      })
      .where('codename', '=', codename)
      .returning('release_date')
      .executeTakeFirstOrThrow()
    return row.release_date
  }

  async function flip(publication: Publication, cleanings: number): Promise<'published' | 'overtaken'> {
    const { generation, revision, release_date: date, causes } = publication
    await ensureDirectory(dirname(tree.link))
    const temporary = join(dirname(tree.link), `.${basename(tree.link)}.${randomBytes(6).toString('hex')}`)
    await symlinkName(relative(dirname(tree.link), join(tree.base, generation)), temporary)
    checkpoint('before-flip')
    try {
      await db.transaction().execute(async (tx) => {
        const now = clock.now()
        // One statement stores the publication, changes the distribution, and notes the previous generation for removal.
        const { rows } = await sql<{ generation: string | null; published_revision: number; cleanings: number }>`
          with live as (select codename, generation, published_revision, cleanings from distributions where codename = ${codename} for update),
          old as (insert into superseded_generations (distribution, generation, superseded_at)
            select codename, generation, ${now}::timestamptz from live where generation is not null on conflict do nothing),
          noted as (insert into publications (distribution, generation, revision, release_date, published_at, causes)
            select codename, ${generation}, ${revision}::bigint, ${date}::bigint, ${now}::timestamptz, ${causes}::text[] from live)
          update distributions d set published_revision = ${revision}, generation = ${generation}, published_at = ${now}
          from live where d.codename = live.codename returning live.generation, live.published_revision, live.cleanings`.execute(
          tx,
        )
        const [live] = rows
        if (!live || live.cleanings !== cleanings) throw new Overtaken()
        const linked = await linkedGeneration(tree.link)
        const isLive = live.generation !== null && linked === live.generation && (await exists(join(tree.base, linked)))
        if (isLive && live.published_revision >= revision) throw new Overtaken()
        // Another replica reserved its date later but flipped earlier: apt would ignore the older index.
        if (releaseDateOf(linked) > releaseDateOf(generation)) throw new Overtaken()
        await renameName(temporary, tree.link)
        checkpoint('after-flip')
      })
      return await named('published')
    } catch (error) {
      if (error instanceof Overtaken) return await named('overtaken')
      throw error
    } finally {
      await removeFile(temporary)
      await fsyncPath(dirname(tree.link))
    }
  }

  /**
   * Makes the further names last, so that a name that led elsewhere always leads to something. They lead through the link, so it
   * does not matter who replaced the link. `isVisible` notices names that a crash left unmade.
   */
  async function named<Outcome>(outcome: Outcome): Promise<Outcome> {
    await ensureStanding(tree)
    return outcome
  }

  return { reserveDate, flip }
}

/** Rolls back the transaction of a flip that is too late. */
class Overtaken extends Error {}
