// Promotion of several packages in one call: each is copied or answered with its own error, and one publish shows them all.
import type { Origin } from '../../domain/audit.ts'
import type { Caller } from '../../domain/caller.ts'
import { isProblem, type Problem } from '../../domain/problem.ts'
import { groupsOf } from '../../kernel/in-groups.ts'
import { copyRecords, type Copied } from './copy-records.ts'
import { announcePromoted, choosePromoted, openPair, type PromoteDeps, type PromotionRequest } from './promote.ts'
import { recheckMissing } from '../recheck-missing.ts'

/** Packages whose records are copied in one transaction. */
const TOGETHER = 20

export interface SeveralPromotions {
  from_dist: string
  to_dist: string
  packages: readonly Pick<PromotionRequest, 'package' | 'version' | 'arch'>[]
}

/** The result for one package: its records, or the reason why none of them was copied. */
export type PromotedPackage = { copied: Copied[] } | { problem: Problem }

/**
 * Answers in the order of the packages, when clients of the target see them.
 * @throws Problem as `openPair`, and as `PublishRecords`: then no package was promoted
 */
export type PromoteSeveral = (request: SeveralPromotions, caller: Caller, origin: Origin) => Promise<PromotedPackage[]>

export function createPromoteSeveral(deps: PromoteDeps): PromoteSeveral {
  return async ({ packages, ...places }, caller, origin) => {
    const begunAt = deps.clock.now()
    const { from, to } = openPair(deps.registry, places.from_dist, places.to_dist)
    const meta = { method: 'promotion' as const, importedBy: caller.name, origin }
    const copy = (ids: readonly number[]) => copyRecords(deps, [...new Set(ids)], from, to, meta)
    const results: PromotedPackage[] = []
    for (const group of groupsOf(packages, TOGETHER)) {
      const chosen = []
      for (const one of group)
        chosen.push(await settled(async () => ({ ids: await choosePromoted(deps.db, { ...places, ...one }, from) })))
      const ids = chosen.flatMap((one) => ('ids' in one ? one.ids : []))
      const together = ids.length === 0 ? { copied: [] } : await settled(async () => ({ copied: await copy(ids) }))
      for (const one of chosen)
        if ('problem' in one) results.push(one)
        else if ('copied' in together)
          results.push({ copied: together.copied.filter(({ source }) => one.ids.includes(source.id)) })
        else results.push(await settled(async () => ({ copied: await copy(one.ids) })))
    }
    await show(results.flatMap((one) => ('copied' in one ? one.copied : [])))
    return results

    /** @param copied lists a record more than once if it was named more than once */
    async function show(copied: readonly Copied[]): Promise<void> {
      const rows = [...new Map(copied.flatMap(({ row }) => (row ? [[row.id, row] as const] : []))).values()]
      if (rows.length === 0) return
      await deps.publishRecords(rows, () => {})
      announcePromoted(deps.bus, rows)
      // The packages may need each other, in any order.
      await recheckMissing(deps.db, deps.settings(), to, begunAt).catch(deps.onError)
    }
  }
}

async function settled<T>(work: () => Promise<T>): Promise<T | { problem: Problem }> {
  try {
    return await work()
  } catch (problem) {
    if (isProblem(problem)) return { problem }
    throw problem
  }
}
