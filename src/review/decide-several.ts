// One decision about several held packages: each in a transaction of its own, one publication for each distribution.
import { isProblem, Problem } from '../domain/problem.ts'
import { isStorageFull } from '../kernel/files.ts'
import { notUnderReview } from '../packages/records/change-record.ts'
import { DatabaseAway } from '../store/database-away.ts'
import type { DecisionRow, PackageRow } from '../store/tables.ts'
import { foresee, type DecideDeps, type DecidedHere } from './decide-one.ts'
import { announceDecided, decideHeld, heldBy, type Looked } from './decide.ts'
import type { Actor } from './deps.ts'
import { readPlan, type DecisionBody, type Plan } from './plan.ts'
import { revertDecisions } from './revert.ts'
import { cleanUp, publishChanges } from './settle.ts'

/** The result for one named package; in a dry run, the expected result. */
export interface DecidedItem {
  selector: Looked
  /** the records of the decision; empty when it failed */
  records: {
    distribution: string
    arch: string
    status: PackageRow['status']
    /** whether clients get it by this decision, or lose it */
    effect: 'offers' | 'withdraws' | 'none'
  }[]
  /** the decisions that were made; empty in a dry run */
  decisions: DecisionRow[]
  problem: Problem | null
}

/**
 * Like `decide` for each, with the same reason. A failure does not affect the other items: its item carries the error, and its
 * package stays under review.
 * @param options.dryRun checks everything except the publication, changes nothing, and returns the expected results
 * @throws Problem('validation_error') for the body
 */
export async function decideSeveral(
  deps: DecideDeps,
  selectors: readonly Looked[],
  body: DecisionBody,
  actor: Actor,
  { dryRun }: { dryRun: boolean },
): Promise<DecidedItem[]> {
  const plan = readPlan(body)
  const seen = new Set<number>()
  const made: { item: DecidedItem; decided: DecidedHere[] }[] = []
  const items: DecidedItem[] = []
  for (const selector of selectors) {
    const item: DecidedItem = { selector, records: [], decisions: [], problem: null }
    items.push(item)
    try {
      const held = await heldOnce(deps, selector, seen)
      if (dryRun) {
        const records = []
        for (const row of held) records.push(await previewOf(deps, row, plan, actor))
        item.records = records
      } else {
        // The findings of a kernel take 4 MB, so they are not kept for all items.
        const decided = (await decideHeld(deps, held, plan, actor)).map(withoutFindings)
        made.push({ item, decided })
        item.records = decided.map(({ before, row }) => recordOf(before, row))
        item.decisions = decided.map(({ decision }) => decision)
      }
      for (const { id } of held) seen.add(id)
    } catch (error) {
      item.problem = problemOf(deps, error)
    }
  }
  if (made.length === 0) return items
  deps.checkpoint('decided')
  for (const codename of new Set(made.flatMap(({ decided }) => decided.map(({ row }) => row.distribution))))
    await publishIn(deps, codename, made, plan, actor)
  const kept = made.filter(({ item }) => item.problem === null).flatMap(({ decided }) => decided)
  await cleanUp(deps, kept)
  announceDecided(deps, kept)
  return items
}

/** Publishes what was decided in one distribution. Approvals that clients cannot see are taken back. */
async function publishIn(
  deps: DecideDeps,
  codename: string,
  made: readonly { item: DecidedItem; decided: DecidedHere[] }[],
  plan: Plan,
  actor: Actor,
): Promise<void> {
  const isHere = ({ row }: DecidedHere) => row.distribution === codename
  const concerned = made.filter(({ item, decided }) => item.problem === null && decided.some(isHere))
  const failure = await publishChanges(
    deps,
    concerned.flatMap(({ decided }) => decided.filter(isHere)),
  )
  if (failure === null) return
  // A rejection stays in force although the index could not be changed yet: recovery tries the publication again.
  if (plan.decision !== 'approve') {
    deps.onError(failure)
    return
  }
  // An item is approved in all of its distributions or in none.
  const reverted = await revertDecisions(
    deps,
    concerned.flatMap(({ decided }) => decided),
    actor,
    failure,
  )
  for (const { item } of concerned) {
    item.problem = problemOf(deps, reverted)
    item.records = []
    item.decisions = []
  }
}

/** @throws Problem as `heldBy`, and 'not_under_review' for a record that an earlier item named */
async function heldOnce(deps: DecideDeps, selector: Looked, seen: Set<number>): Promise<PackageRow[]> {
  const held = await heldBy(deps, selector)
  const again = held.find(({ id }) => seen.has(id))
  if (!again) return held
  throw new Problem('not_under_review', `${notUnderReview(again).detail}, and was named twice`, {
    current_status: again.status,
  })
}

async function previewOf(deps: DecideDeps, row: PackageRow, plan: Plan, actor: Actor) {
  const { status } = await foresee(deps, deps.db, row, plan, actor)
  return recordOf(row, { ...row, status, served: plan.decision === null ? row.served : plan.decision === 'approve' })
}

function recordOf(before: PackageRow, { distribution, arch, status, served }: PackageRow) {
  const effect = before.served === served ? ('none' as const) : served ? ('offers' as const) : ('withdraws' as const)
  return { distribution, arch, status, effect }
}

function withoutFindings({ before, row, ...rest }: DecidedHere): DecidedHere {
  return { ...rest, before: { ...before, cve_results: null }, row: { ...row, cve_results: null } }
}

/** Logs unexpected errors and does not throw them: the other items must still be published. */
function problemOf({ onError }: Pick<DecideDeps, 'onError'>, error: unknown): Problem {
  if (isProblem(error)) return error
  if (error instanceof DatabaseAway)
    return new Problem('database_unavailable', 'the database does not answer; look again whether it is decided')
  onError(error)
  return isStorageFull(error)
    ? new Problem('storage_full', 'the disk is full; it is still under review')
    : new Problem('internal_error', 'an unexpected error happened; the log has it')
}
