// The changes of a distribution's offers between two revisions, read in pages: a restart may read a million packages.
import { sql } from 'kysely'
import type { Db } from '../../store/db.ts'
import type { OfferCause } from '../../store/tables.ts'
import { createPacer } from '../../kernel/pacer.ts'
import { isBeingCleaned } from '../tree/cleaning-claim.ts'
import type { EntryKey } from './blocks.ts'

/** A package file that must be in the tree before an index names it. */
export interface TreeFile {
  sha256: string
  filename: string
  arch: string
}

/** An offered package. */
export interface OfferedRow extends TreeFile {
  id: number
  position: number
}

/** Offers read at a time: a few MB. Much smaller pages would sort the offers of one revision again for each page. */
const PAGE = 10_000

/** What a state has to do to reach `revision`, besides adding `offersBetween` the two. */
export type Changes = {
  revision: number
  /** at `revision`: whether files were being removed from the tree, and how many removals had begun */
  cleaning: { active: boolean; count: number }
  /** causes of changes that no process has published */
  causes: ReadonlySet<OfferCause>
} & (
  | { kind: 'delta'; removed: EntryKey[] }
  /** from nothing: everything that is offered is to be added */
  | { kind: 'restart' }
)

/**
 * Reads what changed after a revision, or reports that everything has to be read: offers that ended after the revision may
 * have been deleted (`history_floor`), or the database was restored to an earlier state.
 * @param revision -1 for everything
 */
export async function changesSince(db: Db, codename: string, revision: number): Promise<Changes> {
  const { now, removed } = await readChanges(db, codename, revision)
  const common = {
    revision: now.revision,
    causes: new Set(now.causes),
    cleaning: { active: now.is_being_cleaned, count: now.cleanings },
  }
  return revision >= 0 && canContinue(revision, now)
    ? { kind: 'delta', ...common, removed }
    : { kind: 'restart', ...common }
}

/** Whether the rows since this revision contain every change. */
export function canContinue(revision: number, now: { revision: number; history_floor: number }): boolean {
  return revision >= now.history_floor && revision <= now.revision
}

/**
 * The packages whose offers began after `after` and were in force at `until`, in their order. Offers that ended later are
 * included: their end belongs to a later revision, so successive pages show the same moment.
 * @param page for tests
 */
export async function* offersBetween(
  db: Db,
  codename: string,
  after: number,
  until: number,
  page = PAGE,
): AsyncGenerator<OfferedRow[]> {
  for (let [position, id] = [after + 1, -1]; ;) {
    const { rows } = await sql<OfferedRow>`
      select package_id as id, from_revision as position, sha256, filename, arch from offers
      where distribution = ${codename} and (from_revision, package_id) > (${position}::bigint, ${id}::bigint)
        and from_revision <= ${until}::bigint and (until_revision is null or until_revision > ${until}::bigint)
      order by from_revision, package_id limit ${page}`.execute(db)
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (!last || rows.length < page) return
    ;({ position, id } = last)
  }
}

interface DistributionNow {
  revision: number
  history_floor: number
  cleanings: number
  is_being_cleaned: boolean
  causes: OfferCause[]
}

/** One statement, so that all rows are of the same moment. */
async function readChanges(
  db: Db,
  codename: string,
  revision: number,
): Promise<{ now: DistributionNow; removed: EntryKey[] }> {
  const { rows } = await sql<DistributionNow & { id: number | null; position: number }>`
    with now as (
      select revision, history_floor, published_revision, cleanings, ${isBeingCleaned} as is_being_cleaned,
        greatest(published_revision, ${revision}::bigint) as known
      from distributions where codename = ${codename}
    ), why as (
      select ended_by as cause from offers, now where distribution = ${codename} and until_revision > known
      union select began_by from offers, now
        where distribution = ${codename} and from_revision > known and until_revision is null
    ), removed as (
      select package_id as id, from_revision as position from offers
      where ${revision}::bigint >= 0 and distribution = ${codename} and until_revision > ${revision}::bigint
    )
    select now.revision, history_floor, cleanings, is_being_cleaned, id, position,
      array(select cause from why where cause is not null) as causes
    from now left join removed on true order by position, id`.execute(db)
  const pace = createPacer()
  const [now] = rows
  if (!now) throw new Error(`the distribution ${codename} is not initialized`)
  const removed: EntryKey[] = []
  for (const { id, position } of rows) {
    if (id !== null) removed.push({ id, position, weight: 0 })
    await pace()
  }
  return { now, removed }
}
