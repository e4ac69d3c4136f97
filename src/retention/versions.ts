// Old versions of published packages: deleted as a person deletes them, unless another package needs them.
import { sql } from 'kysely'
import type { Json } from '../domain/json.ts'
import type { Settings } from '../domain/settings.ts'
import type { Offered } from '../formats/format.ts'
import { neededAmong } from '../gate/needed.ts'
import type { DeleteIds } from '../intake/delete-packages.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../store/db.ts'
import { DAY_MS, NO_ORIGIN, type RetentionStep, type StepProgress } from './step.ts'
import { surplusVersions, type PublishedVersion } from './surplus-versions.ts'

/** Records deleted in one transaction, with one publish. */
const TOGETHER = 50
/** Published versions that are read and compared at a time; more only when one package has more. */
const PAGE = 1000
/** Packages that a plan lists. */
const MOST_LISTED = 100
/** An old version that only old versions need goes with the pass after theirs. */
const MOST_PASSES = 10
/** Tries to find packages whose removal breaks nothing, before a page is left as it is. */
const MOST_TRIES = 4

export interface VersionsDeps {
  db: Db
  clock: Clock
  active: readonly Offered[]
  deleteIds: DeleteIds
  /**
   * Names of the packages, and of those in the causes, that could no longer be installed without these; also for reasons
   * that are no missing requirement (conflicts)
   */
  brokenWithout(codename: string, removed: readonly PublishedVersion[]): Promise<ReadonlySet<string>>
  settings(): Pick<Settings, 'retention'>
}

interface Page {
  go: PublishedVersion[]
  /** why others stay */
  stay: { one: PublishedVersion; reason: string }[]
}

export function versionsStep(deps: VersionsDeps): RetentionStep {
  const { db, clock, active } = deps

  function ruleOf({ format, distribution }: Offered) {
    const { keep_versions: kept, keep_versions_days: days } = deps.settings().retention
    const keep = kept[distribution.codename] ?? kept['*'] ?? 0
    const before = new Date(clock.now().getTime() - days * DAY_MS)
    return { keep, before, compare: format.versions.compare }
  }

  async function* pages(offered: Offered): AsyncGenerator<Page> {
    const rule = ruleOf(offered)
    if (rule.keep === 0) return
    for await (const versions of manyVersions(db, offered.distribution.codename, rule.keep)) {
      const surplus = surplusVersions(versions, rule)
      if (surplus.length > 0) yield pageOf(offered, surplus)
    }
  }

  async function pageOf(offered: Offered, surplus: readonly PublishedVersion[]): Promise<Page> {
    const { codename } = offered.distribution
    let left = [...surplus]
    const stay: Page['stay'] = []
    const keep = (reasonOf: (one: PublishedVersion) => string | null) => {
      left = left.filter((one) => {
        const reason = reasonOf(one)
        if (reason !== null) stay.push({ one, reason })
        return reason === null
      })
    }
    for (let tries = 0; left.length > 0; tries++) {
      const needed = await neededAmong(
        db,
        offered,
        left.map(({ id }) => id),
      )
      keep(({ id }) => {
        const by = needed.get(id)
        return by ? `${by.name} ${by.version} needs ${by.requirement}` : null
      })
      if (left.length === 0) break
      const broken = await deps.brokenWithout(codename, left)
      if (broken.size === 0) break
      const isLast = tries === MOST_TRIES - 1
      const isNamed = left.some(({ name }) => broken.has(name))
      keep(({ name }) =>
        isLast || !isNamed || broken.has(name) ? 'another package could no longer be installed' : null,
      )
    }
    return { go: left, stay }
  }

  /** Deletes what can go, until nothing more can. @returns how many stay because they are needed */
  async function runOne(offered: Offered, { by, line, signal }: StepProgress, deleted: (n: number) => Promise<void>) {
    const { codename } = offered.distribution
    const extra = { reason: 'retention.keep_versions', keep: ruleOf(offered).keep }
    for (let pass = 1; ; pass++) {
      let removed = 0
      let needed = 0
      for await (const { go, stay } of pages(offered)) {
        needed += stay.length
        for (let at = 0; at < go.length; at += TOGETHER) {
          signal.throwIfAborted()
          const ids = go.slice(at, at + TOGETHER).map(({ id }) => id)
          const gone = (await deps.deleteIds(ids, by, NO_ORIGIN, extra)).length
          removed += gone
          await deleted(gone)
        }
      }
      if (removed > 0) line(`${codename}: ${removed} old versions are deleted, ${needed} are needed`)
      if (removed === 0 || needed === 0 || pass === MOST_PASSES) return needed
    }
  }

  return {
    name: 'versions',
    async plan(signal) {
      const plan = { packages: 0, needed: 0, listed: [] as Json[] }
      const list = (one: PublishedVersion, codename: string, goes: boolean, why: string) => {
        if (plan.listed.length >= MOST_LISTED) return
        plan.listed.push({ distribution: codename, name: one.name, version: one.version, arch: one.arch, goes, why })
      }
      for (const offered of active) {
        const { codename } = offered.distribution
        const newer = `${ruleOf(offered).keep} newer versions are published`
        for await (const { go, stay } of pages(offered)) {
          signal.throwIfAborted()
          plan.packages += go.length
          plan.needed += stay.length
          for (const one of go) list(one, codename, true, newer)
          for (const { one, reason } of stay) list(one, codename, false, reason.slice(0, 200))
        }
      }
      return plan
    },
    async run(progress) {
      let packages = Number(progress.before?.['packages'] ?? 0)
      let needed = 0
      for (const offered of active)
        needed += await runOne(offered, progress, async (n) => {
          packages += n
          await progress.save({ packages })
        })
      return { packages, needed }
    },
  }
}

/** All published versions of the packages that have more than `keep`, in the order of names; some packages at a time. */
async function* manyVersions(db: Db, codename: string, keep: number): AsyncGenerator<PublishedVersion[]> {
  for (let after = ''; ;) {
    // Architectures are told apart later: a package with more versions in all may have few of each.
    const { rows: names } = await sql<{ name: string; n: number }>`
      select name, count(*)::int as n from offers
      where distribution = ${codename} and until_revision is null and name > ${after}
      group by name having count(*) > ${keep} order by name limit 200`.execute(db)
    if (names.length === 0) return
    let total = 0
    const some = names.filter(({ n }, index) => (total += n) <= PAGE || index === 0).map(({ name }) => name)
    after = some.at(-1)!
    const { rows } = await sql<PublishedVersion>`
      select p.id, o.name, o.version, o.arch, p.imported_at as "importedAt"
      from offers o join packages p on p.id = o.package_id
      where o.distribution = ${codename} and o.until_revision is null and o.name = any(${some}::text[])
        and p.status = 'published' order by p.id`.execute(db)
    yield rows
  }
}
