// Which packages of a distribution can be installed, now and after a planned change. Results are kept until the next check.
import { sql } from 'kysely'
import {
  HELD_STATUSES,
  type CheckResult,
  type InstallabilityResult,
  type PlanResult,
} from '../../domain/installability.ts'
import { invalidField, Problem } from '../../domain/problem.ts'
import type { TaskContext, TaskKind } from '../../domain/tasks.ts'
import { archsIn } from '../../formats/architectures.ts'
import type { Placed } from '../../formats/intake-format.ts'
import { withChecker, type Checker } from '../../formats/installation/checker.ts'
import type { Selector } from '../../formats/installation/messages.ts'
import { isoTime, type Clock } from '../../kernel/clock.ts'
import { createSemaphore } from '../../kernel/semaphore.ts'
import type { Db } from '../../store/db.ts'
import { revisionOf } from '../../store/records/served-query.ts'
import {
  catalogPackages,
  catalogSources,
  heldPackages,
  publishedPackages,
  selected,
  type CatalogSource,
} from './read-packages.ts'

export const INSTALLABILITY = 'installability'
/** Packages that a result lists for one architecture. */
const MOST_LISTED = 200

export interface Plan {
  add: readonly Selector[]
  remove: readonly Selector[]
  /** codename that the added packages are published in */
  promoteFrom: string | null
  /** source whose catalog has the added packages */
  sourceId: number | null
  /** false: packages of catalogs do not count */
  withUpstream: boolean
}

export interface Planned extends PlanResult {
  revision: number
  /** whether packages of catalogs counted */
  with_upstream: boolean
  added: number
}

export interface Installability {
  /** The task of one distribution; its key is the codename. */
  kind: TaskKind
  /** The result of the last check; null before the first. */
  last(codename: string): Promise<{ revision: number; checkedAt: Date; result: InstallabilityResult } | null>
  /**
   * What a planned change would break: packages that can be installed before and not after it.
   * @throws Problem('validation_error'), Problem('not_found') for packages to add or remove that do not exist
   */
  plan(codename: string, plan: Plan): Promise<Planned>
  /** Whether the packages, or the catalogs that belong to them, changed since the last check. */
  isDue(codename: string): Promise<boolean>
}

export interface InstallabilityDeps {
  db: Db
  clock: Clock
  find(codename: string): Placed | null
}

export function createInstallability({ db, clock, find }: InstallabilityDeps): Installability {
  // The packages of Debian 12 take 400 MB here, so only one check runs at a time.
  const alone = createSemaphore(1)

  function known(codename: string): Placed {
    const offered = find(codename)
    if (!offered) throw new Problem('not_found', `there is no distribution ${codename.slice(0, 100)}`)
    return offered
  }

  /** Gives the thread all packages that clients of an architecture see: those for it and for all, and those of catalogs. */
  async function fill(
    checker: Checker,
    { format, distribution }: Placed,
    architecture: string,
    sources: readonly CatalogSource[],
    signal?: AbortSignal,
  ): Promise<void> {
    const archs = archsIn(format, architecture)
    for await (const page of publishedPackages(db, distribution.codename, archs)) {
      signal?.throwIfAborted()
      await checker.add('distribution', page)
    }
    // Before the catalogs: a package that is held here cannot be installed from a catalog either.
    for (const status of HELD_STATUSES)
      for await (const page of heldPackages(db, distribution.codename, archs, status)) {
        signal?.throwIfAborted()
        await checker.add(status, page)
      }
    for (const { id } of sources)
      for await (const page of catalogPackages(db, id, archs)) {
        signal?.throwIfAborted()
        await checker.add('upstream', page)
      }
  }

  async function checkAll({ key, line, signal }: TaskContext) {
    const offered = known(key)
    const { format, distribution } = offered
    const sources = await catalogSources(db, key, format)
    // The next check finds packages that are published while this one reads.
    const [revision, checkedAt] = [await revisionOf(db, key), clock.now()]
    const architectures: InstallabilityResult['architectures'] = []
    for (const architecture of distribution.architectures) {
      const checked = await alone(() =>
        withChecker(
          format,
          architecture,
          async (checker) => {
            await fill(checker, offered, architecture, sources, signal)
            return checker.check(MOST_LISTED)
          },
          signal,
        ),
      )
      architectures.push({ architecture, ...checked })
      line(`${architecture}: ${sentenceOf(checked)}`)
    }
    const shown = sources.map(({ id, name, last_sync }) => ({ id, name, last_sync: isoTime(last_sync) }))
    const result: InstallabilityResult = { architectures, sources: shown }
    const row = { revision, checked_at: checkedAt, result: JSON.stringify(result) }
    await db
      .insertInto('installability')
      .values({ distribution: key, ...row })
      .onConflict((c) => c.column('distribution').doUpdateSet(row))
      .execute()
    const sum = (of: (one: CheckResult) => number) => architectures.reduce((total, one) => total + of(one), 0)
    return {
      revision,
      total: sum((one) => one.total),
      uninstallable_total: sum((one) => one.uninstallable_total),
      undecided_total: sum((one) => one.undecided_total),
    }
  }

  async function plan(codename: string, wanted: Plan): Promise<Planned> {
    const offered = known(codename)
    const { format, distribution } = offered
    const from = wanted.promoteFrom === null ? null : known(wanted.promoteFrom)
    if (from && from.format.id !== format.id)
      throw invalidField('promote_from', `has ${from.format.id} packages; expected ${format.id}`)
    if (wanted.add.length > 0 && (from === null) === (wanted.sourceId === null))
      throw invalidField('add', 'needs either promote_from or source_id, which has the packages')
    const revision = await revisionOf(db, codename)
    const sources = wanted.withUpstream ? await catalogSources(db, codename, format) : []
    const total: Planned = {
      ...{ revision, with_upstream: sources.length > 0, added: 0, removed: 0, undecided_total: 0 },
      ...{ would_break: [], would_break_total: 0, would_fix: [], would_fix_total: 0 },
      ...{ added_uninstallable: [], added_uninstallable_total: 0 },
    }
    for (const architecture of distribution.architectures) {
      const archs = archsIn(format, architecture)
      const planned = await alone(() =>
        withChecker(format, architecture, async (checker) => {
          await fill(checker, offered, architecture, sources)
          const names = wanted.add.map(({ name }) => name)
          const pages = from
            ? publishedPackages(db, from.distribution.codename, archs, names)
            : catalogPackages(db, wanted.sourceId ?? 0, archs, names)
          if (names.length > 0)
            for await (const page of pages) {
              const chosen = selected(page, wanted.add)
              total.added += (JSON.parse(chosen) as unknown[]).length
              await checker.add('added', chosen)
            }
          return checker.plan({ withUpstream: sources.length > 0, remove: wanted.remove, mostListed: MOST_LISTED })
        }),
      )
      addTo(total, planned)
    }
    if (wanted.add.length > 0 && total.added === 0) throw new Problem('not_found', 'none of the packages to add exists')
    if (wanted.remove.length > 0 && total.removed === 0)
      throw new Problem('not_found', `none of the packages to remove is published in ${codename}`)
    return total
  }

  const last: Installability['last'] = async (codename) => {
    const row = await db
      .selectFrom('installability')
      .selectAll()
      .where('distribution', '=', codename)
      .executeTakeFirst()
    return row ? { revision: row.revision, checkedAt: row.checked_at, result: row.result } : null
  }

  return {
    last,
    plan,
    kind: { kind: INSTALLABILITY, lane: 'interactive', leaderOnly: false, run: checkAll },
    async isDue(codename) {
      const offered = find(codename)
      if (!offered) return false
      const { rows } = await sql<{
        due: boolean
      }>`select d.published_count > 0 and (i.revision is null or i.revision <> d.revision)
        as due from distributions d left join installability i on i.distribution = d.codename
        where d.codename = ${codename}`.execute(db)
      if (rows[0]?.due) return true
      const before = await last(codename)
      if (!before) return false
      const sources = await catalogSources(db, codename, offered.format)
      return sources.some(({ last_sync }) => last_sync > before.checkedAt)
    },
  }
}

function sentenceOf({ total, upstream, uninstallable_total, undecided_total }: CheckResult): string {
  const beside = upstream > 0 ? `, beside ${upstream} packages of catalogs` : ''
  return `${uninstallable_total} of ${total} packages cannot be installed, ${undecided_total} are undecided${beside}`
}

function addTo(total: Planned, one: PlanResult): void {
  const room = <T>(list: T[], more: readonly T[]) => void list.push(...more.slice(0, MOST_LISTED - list.length))
  room(total.would_break, one.would_break)
  room(total.would_fix, one.would_fix)
  room(total.added_uninstallable, one.added_uninstallable)
  total.would_break_total += one.would_break_total
  total.would_fix_total += one.would_fix_total
  total.added_uninstallable_total += one.added_uninstallable_total
  total.undecided_total += one.undecided_total
  total.removed += one.removed
}
