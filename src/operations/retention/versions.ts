// Old versions of published packages: deleted like a deletion by a person, unless another package needs them.
import { DAY_MS } from '../../domain/durations.ts'
import type { Json } from '../../domain/json.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Offered } from '../../formats/format.ts'
import { neededAmong } from '../../gate/needed.ts'
import type { DeleteIds } from '../../packages/delete-packages.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { ChooseRecords } from '../../packages/records/delete-records.ts'
import type { Db } from '../../store/db.ts'
import { hasChanged, manyVersions, versionsOf } from './published-versions.ts'
import { NO_ORIGIN, type RetentionStep, type StepProgress } from './step.ts'
import { surplusVersions, type PublishedVersion } from './surplus-versions.ts'

/** Records deleted in one transaction, with one publish. */
const TOGETHER = 50
/** Most packages that a plan lists. */
const MOST_LISTED = 100
/** Most passes: an old version that only old versions need is deleted in the pass after them. */
const MOST_PASSES = 10
/** Tries to find packages whose removal breaks nothing, before the rest of a page is left as it is. */
const MOST_TRIES = 4
/** Most plans for a page, when the distribution changes between each plan and its deletions. */
const MOST_PLANS = 5

export interface VersionsDeps {
  db: Db
  clock: Clock
  active: readonly Offered[]
  deleteIds: DeleteIds
  /**
   * Names of the packages that could no longer be installed without these, and of packages in the causes; also for causes other
   * than a missing requirement (conflicts)
   */
  brokenWithout(codename: string, removed: readonly PublishedVersion[]): Promise<ReadonlySet<string>>
  settings(): Pick<Settings, 'retention'>
}

interface Page {
  /** revision at which the plan was made */
  revision: number
  go: PublishedVersion[]
  /** the versions that stay, with the reason */
  stay: { one: PublishedVersion; reason: string }[]
}

class PlanIsOld extends Error {}

export function versionsStep(deps: VersionsDeps): RetentionStep {
  const { db, clock, active } = deps

  function ruleOf({ format, distribution }: Offered) {
    const { keep_versions: kept, keep_versions_days: days } = deps.settings().retention
    const keep = kept[distribution.codename] ?? kept['*'] ?? 0
    const before = new Date(clock.now().getTime() - days * DAY_MS)
    return { keep, before, compare: format.versions.compare }
  }

  async function* pages(offered: Offered): AsyncGenerator<Page> {
    const { keep } = ruleOf(offered)
    if (keep === 0) return
    for await (const names of manyVersions(db, offered.distribution.codename, keep)) yield pageOf(offered, names)
  }

  async function pageOf(offered: Offered, names: readonly string[]): Promise<Page> {
    const { codename } = offered.distribution
    const { revision, versions } = await versionsOf(db, codename, names)
    let left = surplusVersions(versions, ruleOf(offered))
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
    return { revision, go: left, stay }
  }

  /**
   * Deletes the versions of some packages that can be deleted. The distribution may change at any moment, so that a version
   * becomes needed: the transaction checks this, and deletes nothing if the distribution has changed.
   * @returns how many are needed, and how many are left because the distribution changed each time
   */
  async function carryOut(
    offered: Offered,
    plan: Page,
    remove: (ids: number[], choose: ChooseRecords) => Promise<void>,
  ) {
    const { codename } = offered.distribution
    let page = plan
    for (let tries = 1; ; tries++) {
      const all = page.go.map(({ id }) => id)
      const { revision } = page
      const choose: ChooseRecords = async (tx, rows) => {
        if (await hasChanged(tx, codename, revision, all)) throw new PlanIsOld()
        return rows
      }
      let done = 0
      try {
        for (; done < all.length; done += TOGETHER) await remove(all.slice(done, done + TOGETHER), choose)
        return { needed: page.stay.length, changing: 0 }
      } catch (error) {
        if (!(error instanceof PlanIsOld)) throw error
      }
      const left = page.go.slice(done)
      if (tries === MOST_PLANS) return { needed: page.stay.length, changing: left.length }
      page = await pageOf(offered, [...new Set([...left, ...page.stay.map(({ one }) => one)].map(({ name }) => name))])
    }
  }

  /** Deletes versions until no more can be deleted. @returns as `carryOut` */
  async function runOne(offered: Offered, { by, line, signal }: StepProgress, deleted: (n: number) => Promise<void>) {
    const { codename } = offered.distribution
    const extra = { reason: 'retention.keep_versions', keep: ruleOf(offered).keep }
    for (let pass = 1; ; pass++) {
      let removed = 0
      const total = { needed: 0, changing: 0 }
      for await (const page of pages(offered)) {
        const { needed, changing } = await carryOut(offered, page, async (ids, choose) => {
          signal.throwIfAborted()
          const gone = (await deps.deleteIds(ids, by, NO_ORIGIN, extra, choose)).length
          removed += gone
          await deleted(gone)
        })
        total.needed += needed
        total.changing += changing
      }
      if (removed > 0) line(`${codename}: ${removed} old versions are deleted, ${total.needed} are needed`)
      if (removed === 0 || total.needed === 0 || pass === MOST_PASSES) {
        if (total.changing > 0)
          line(`${codename}: ${total.changing} old versions stay until the next run: packages arrived all the time`)
        return total
      }
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
      const total = { needed: 0, changing: 0 }
      for (const offered of active) {
        const { needed, changing } = await runOne(offered, progress, async (n) => {
          packages += n
          await progress.save({ packages })
        })
        total.needed += needed
        total.changing += changing
      }
      return { packages, ...total }
    },
  }
}
