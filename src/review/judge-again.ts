// Judges packages again that were held only because a scanner was missing. Those that every step passes now are published,
// as they would have been on arrival.
import { sql } from 'kysely'
import { decide, isHeldUnscanned } from '../domain/decide.ts'
import type { Seen } from '../domain/evidence.ts'
import type { Finding } from '../domain/finding.ts'
import { isProblem } from '../domain/problem.ts'
import type { TaskContext, TaskKind } from '../domain/tasks.ts'
import type { Candidate } from '../gate/step.ts'
import { removeFile } from '../kernel/files.ts'
import { changeRecord, lockIfThere, type Changed } from '../packages/records/change-record.ts'
import { noteEvidence } from '../packages/records/evidence.ts'
import { renderAhead } from '../packages/records/entries.ts'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'
import { activeDecisions } from '../packages/records/decisions.ts'
import { recordsOf } from '../store/records/artifact-query.ts'
import type { PackageRow } from '../store/tables.ts'
import type { Applied, ApplyDeps } from './apply.ts'
import { assess } from './assess.ts'
import { eventBase, NO_REVIEW, NOT_HELD, systemActor, type Actor, type ReviewDeps } from './deps.ts'
import { inspect, type RunStep } from './inspect.ts'
import { mergeFindings } from './merge.ts'
import { quarantine } from './quarantine.ts'
import { announce, cleanUp, publishChanges } from './settle.ts'
import { SCANNED, stepRunner, storedCandidate } from './stored-candidate.ts'

export type JudgeDeps = ApplyDeps & Pick<ReviewDeps, 'pool' | 'staging' | 'steps' | 'checkpoint'>

export const JUDGE_AGAIN = 'judge_again'

export interface Scanned {
  candidate: Candidate
  run: RunStep
  /** today's vulnerability scan, which judged the package */
  cve: Awaited<ReturnType<RunStep>>
}

/**
 * Runs the steps that follow the vulnerability scan. A package that passes all of them is published; one that a step holds
 * stays held for that reason; an infected or blocked one is quarantined.
 * @returns `missing`: a scanner is still missing; `left`: a person or another check acted first, or has to act. In both cases
 * nothing has changed
 * @throws the publisher's error: the record is held as before
 */
export async function judgeAgain(
  deps: JudgeDeps,
  row: PackageRow,
  { candidate, run, cve }: Scanned,
  actor: Actor,
): Promise<Applied | 'missing' | 'left'> {
  // Somebody waits for an upgrade, for example.
  const standing = (await activeDecisions(deps.db, [row.id])).get(row.id) ?? []
  if (standing.length > 0) return 'left'
  const inspection = await inspect(deps, row, candidate, cve.verdict, run)
  // The file was signed on arrival. Where the settings require another signature now, a person decides.
  if (inspection.signed) await removeFile(inspection.signed.path)
  const checks: Seen[] = [{ ...cve.seen, check: 'cve_scan' }, ...inspection.evidence]
  const { event, heldReason, verdicts } = decide(
    deps.settings(),
    { ...row, findings: (row.cve_results ?? []) as Finding[] },
    { checks },
    [],
    deps.clock.now(),
  )
  const malware = verdicts.find(({ check }) => check === 'antivirus')
  // A scan that was switched off since counts as missing.
  if (malware && malware.result !== row.pipeline['antivirus'] && ['error', 'skipped'].includes(malware.result))
    return 'missing'
  if (event !== 'quarantine' && malware?.result === 'error') return 'missing'
  // Without a malware result the package's bytes are missing: the drift scan reports that.
  if (inspection.signed || !malware) return 'left'
  const isPassed = event === 'pass'
  const rendered = isPassed ? await renderAhead(deps.db, row, deps.offered(row.distribution)) : null
  const applied = await transaction(deps.db, (tx) => settle(tx))
  if (!applied) return 'left'
  if (event === 'quarantine') {
    const { name, version, distribution, arch } = row
    const said = verdicts.find(({ outcome }) => outcome === 'refuse')?.message ?? null
    const [changed] = await quarantine(deps, { name, version, distribution, arch }, said, actor)
    return { ...applied, row: changed?.row ?? applied.row }
  }
  const failure = await publishChanges(deps, [applied])
  if (failure !== null) {
    await holdAgain(deps, applied, actor)
    throw failure
  }
  await cleanUp(deps, [applied])
  announce(deps, [applied])
  return applied

  async function settle(tx: Db): Promise<Applied | null> {
    const before = await lockIfThere(tx, row.id)
    if (!before || !isHeldUnscanned(before) || before.sha256 !== row.sha256) return null
    const decisions = (await activeDecisions(tx, [row.id])).get(row.id) ?? []
    if (decisions.length > 0) return null
    const now = deps.clock.now()
    const seen = { engine: deps.engines[0] ?? '', findings: cve.seen.findings ?? [] }
    const known = mergeFindings((before.cve_results ?? []) as Finding[], seen, deps.engines, now.toISOString())
    const judged = assess(
      before,
      known,
      { mechanism: 'rescan', evidence: checks },
      { decisions, policy: deps.settings(), now },
    )
    if (judged.kind !== 'change') return null
    await noteEvidence(tx, before, checks, now)
    const changed = await changeRecord(
      tx,
      deps.audit,
      before,
      {
        event: isPassed ? 'pass' : 'refresh',
        rendered,
        ...(judged.findings ? { findings: judged.findings } : {}),
        set: {
          ...judged.set,
          ...(inspection.missing ? { deps_missing: JSON.stringify(inspection.missing) } : {}),
          ...(isPassed ? { ...NOT_HELD, cve_status: 'approved', validation_steps: publishedSteps(judged.set) } : {}),
          ...(event === 'refresh' && heldReason ? { held_reason: heldReason } : {}),
        },
        review: isPassed ? NO_REVIEW : judged.review,
        audit: {
          ...eventBase(before, actor),
          action: 'RESCAN',
          result: isPassed ? 'SUCCESS' : 'WARNING',
          outcome: isPassed ? 'published' : 'pending_review',
          detail: isPassed
            ? 'it was held because it could not be scanned; every step lets it pass now'
            : 'it was held because it could not be scanned; it was scanned now',
          extra: {
            mechanism: 'unscanned',
            previous_status: before.status,
            new_cve_ids: judged.newIds,
            sha256: before.sha256,
          },
        },
      },
      deps.offered(before.distribution),
    )
    return { ...changed, newIds: judged.newIds, droppedIds: judged.droppedIds, reasons: [] }
  }
}

function publishedSteps(set: { validation_steps?: unknown }): string {
  const steps = JSON.parse(String(set.validation_steps)) as { name: string }[]
  const step = { name: 'publication', passed: true, message: 'offered to clients', detail: null }
  return JSON.stringify([...steps.filter(({ name }) => name !== step.name), step])
}

/** Holds the record as before, because it was not published. */
async function holdAgain(deps: JudgeDeps, { before, row }: Changed, actor: Actor): Promise<void> {
  const undone = await transaction(deps.db, async (tx) => {
    const now = await lockIfThere(tx, row.id)
    if (now?.status !== 'published') return []
    const { cve_status, held_reason, review_due_at, review_origin, review_since, overdue_noted_at } = before
    const change = {
      event: 'unpublishable' as const,
      set: { cve_status, held_reason, review_due_at, validation_steps: JSON.stringify(before.validation_steps) },
      review: { review_origin, review_since, overdue_noted_at },
      audit: {
        ...eventBase(row, actor),
        ...{ action: 'PUBLISH_FAILURE', result: 'FAILURE' as const, outcome: 'publication_failed' },
        detail: 'the package is held as before',
      },
    }
    return [await changeRecord(tx, deps.audit, now, change, deps.offered(row.distribution))]
  })
  // Recovery repeats what fails here.
  await publishChanges(deps, undone)
  await cleanUp(deps, undone)
}

/**
 * Judges all of them again, in the order of arrival. Ends early when a scanner is still missing. Packages held only by a limit
 * of a scanner (`limited`) are left to people and to rescans: the next scan would have the same result.
 */
export function judgeAgainKind(deps: JudgeDeps): TaskKind {
  return {
    kind: JUDGE_AGAIN,
    lane: 'maintenance',
    leaderOnly: true,
    async run(context: TaskContext) {
      const state = (context.cursor as { after: number; published: number; held: number; failed: number } | null) ?? {
        ...{ after: 0, published: 0, held: 0, failed: 0 },
      }
      const run = stepRunner(deps)
      for (;;) {
        context.signal.throwIfAborted()
        const row = await nextHeld(deps.db, state.after)
        if (!row) break
        try {
          const judged = await judgeStored(deps, row, run)
          if (judged === 'missing') {
            context.line('a scanner is missing still')
            break
          }
          if (judged === 'published') state.published++
          else state.held++
        } catch (error) {
          if (!isProblem(error)) throw error
          if (error.code === 'scanner_unavailable') {
            context.line(error.detail)
            break
          }
          state.failed++
          context.line(`${row.name} ${row.version}: ${error.detail}`)
        }
        state.after = row.id
        await context.save({ ...state })
      }
      const { published, held, failed } = state
      context.line(`${published} packages published, ${held} still held, ${failed} failed`)
      return { published, held, failed }
    },
  }
}

async function judgeStored(deps: JudgeDeps, row: PackageRow, run: RunStep): Promise<'published' | 'held' | 'missing'> {
  const candidate = await storedCandidate(deps, row)
  const cve = await run('cve_scan', candidate)
  if (cve.verdict.result === 'error') return 'missing'
  // There are no advisories for this distribution; other distributions may have some.
  if (!SCANNED.includes(cve.verdict.result)) return 'held'
  const judged = await judgeAgain(deps, row, { candidate, run, cve }, systemActor('scheduler'))
  if (judged === 'missing') return judged
  return judged !== 'left' && judged.row.status === 'published' ? 'published' : 'held'
}

/** The next package whose scan failed because of a scanner and not because of the package. */
async function nextHeld(db: Db, after: number): Promise<PackageRow | null> {
  const { rows } = await sql<{ id: number }>`select id from packages
    where status = 'pending_review' and held_reason = 'unscanned' and id > ${after}::bigint
      and (pipeline->>'antivirus' = 'error' or pipeline->>'cve_scan' in ('error', 'no_data'))
    order by id limit 1`.execute(db)
  const [row] = await recordsOf(
    db,
    rows.map(({ id }) => id),
  )
  return row && !row.served ? row : row ? nextHeld(db, row.id) : null
}
