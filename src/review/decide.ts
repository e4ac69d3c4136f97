// A person decides about a held package: approve it (for good or for a time), reject it, or wait for an upgrade.
import type { Finding } from '../domain/finding.ts'
import { Problem } from '../domain/problem.ts'
import { isRepository } from '../domain/repositories.ts'
import { notUnderReview } from '../packages/records/change-record.ts'
import { renderAhead, type Rendered } from '../packages/records/entries.ts'
import { inLockOrder, lockRecords } from '../packages/records/lock-order.ts'
import { matchingRecords, type RecordSelector } from '../store/records/artifact-query.ts'
import type { PackageRow } from '../store/tables.ts'
import { transaction } from '../store/transaction.ts'
import { decideOne, type DecideDeps, type Decided, type DecidedHere } from './decide-one.ts'
import { noSuchPackage, type Actor } from './deps.ts'
import { readPlan, type DecisionBody, type Plan } from './plan.ts'
import { revertDecisions } from './revert.ts'
import { announce, cleanUp, publishChanges } from './settle.ts'

/** Held records that a person decides about. */
export interface Looked extends RecordSelector {
  /** of the bytes that the person looked at; a package of that name may have been replaced since */
  sha256?: string | undefined
}

/**
 * Decides about every held record that the selector matches, and returns when clients see the result.
 * @throws Problem('validation_error') for the body, 'not_found', 'not_under_review' with `current_status`, 'ambiguous' with
 * `candidates`, 'bytes_changed' with `sha256`, 'self_approval'; 'publication_failed' or 'storage_full' when an approval could not be published: it is
 * reverted, and the package stays under review
 */
export async function decide(deps: DecideDeps, selector: Looked, body: DecisionBody, actor: Actor): Promise<Decided[]> {
  const plan = readPlan(body)
  const decided = await decideHeld(deps, await heldBy(deps, selector), plan, actor)
  deps.checkpoint('decided')
  const failure = await publishChanges(deps, decided)
  if (failure !== null && plan.decision === 'approve') throw await revertDecisions(deps, decided, actor, failure)
  await cleanUp(deps, decided)
  announceDecided(deps, decided)
  // A rejection stays in force although the index could not be changed yet: recovery tries the publication again.
  if (failure !== null) throw failure
  return decided
}

/** The held records that one decision covers. @throws Problem('not_found', 'not_under_review', 'ambiguous', 'bytes_changed') */
export async function heldBy({ db }: Pick<DecideDeps, 'db'>, selector: Looked): Promise<PackageRow[]> {
  // With findings, because `requireAlike` compares them: a version has at most one record per distribution and architecture.
  const rows = await matchingRecords(db, selector).selectAll().execute()
  const newest = rows.at(-1)
  if (!newest) throw noSuchPackage(selector)
  const held = rows.filter((row) => row.status === 'pending_review')
  if (held.length === 0) throw notUnderReview(newest)
  requireAlike(held)
  const [{ sha256 }] = held as [PackageRow]
  const seen = selector.sha256?.toLowerCase()
  if (seen !== undefined && !held.some((row) => row.sha256 === seen))
    throw new Problem(
      'bytes_changed',
      `${newest.name} ${newest.version} is another file now than the one that was looked at`,
      { sha256 },
    )
  return held
}

/** Decides about these records in one transaction; nothing is published yet. */
export async function decideHeld(
  deps: DecideDeps,
  held: readonly PackageRow[],
  plan: Plan,
  actor: Actor,
): Promise<DecidedHere[]> {
  const rendered = new Map<number, Rendered | null>()
  if (plan.decision === 'approve')
    for (const row of held) rendered.set(row.id, await renderAhead(deps.db, row, deps.offered(row.distribution)))
  return transaction(deps.db, async (tx) => {
    await lockRecords(
      tx,
      held.map(({ id }) => id),
    )
    const done: DecidedHere[] = []
    for (const { id } of inLockOrder(held))
      done.push(await decideOne(deps, tx, id, plan, actor, { rendered: rendered.get(id) }))
    return done
  })
}

export function announceDecided(deps: DecideDeps, decided: readonly Decided[]): void {
  announce(deps, decided)
  for (const { row, decision } of decided) {
    deps.bus.emit('decision', {
      package: row.name,
      version: row.version,
      distribution: row.distribution,
      arch: row.arch,
      action: decision.action,
      status: row.status,
      decided_by: decision.decided_by,
    })
  }
}

/**
 * One decision may cover several records only when they have the same open findings and the same bytes. The files of one version in a
 * repository of libraries differ by nature: they must be held for the same reason.
 */
function requireAlike(held: readonly PackageRow[]): void {
  const openOf = (row: PackageRow) =>
    ((row.cve_results ?? []) as Finding[])
      .filter((finding) => !finding.accepted_by_decision)
      .map((finding) => finding.id)
      .sort()
  const [{ distribution: place }] = held as [PackageRow]
  const isRelease = isRepository(place) && held.every(({ distribution }) => distribution === place)
  const keys = new Set(held.map((row) => JSON.stringify([isRelease ? row.held_reason : row.sha256, openOf(row)])))
  if (keys.size === 1) return
  const candidates = held.map((row) => ({
    distribution: row.distribution,
    arch: row.arch,
    sha256: row.sha256,
    held_reason: row.held_reason,
    cve_ids: openOf(row),
  }))
  throw new Problem(
    'ambiguous',
    'several packages of that version are held and differ; name the distribution or the architecture',
    { candidates },
  )
}
