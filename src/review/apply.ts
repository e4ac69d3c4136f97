// Applies the result of a later check to a record: one rule for rescan, re-match, second scanner and dependency scan.
import type { Found } from '../domain/evidence.ts'
import { vulnerabilities, type Finding } from '../domain/finding.ts'
import { isoTime } from '../kernel/clock.ts'
import { changeRecord, lockRecord, type Change, type Changed } from '../packages/records/change-record.ts'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'
import { insertBlobs, withBytes, type SeenRemovals } from '../store/files/with-bytes.ts'
import { noteEvidence } from '../packages/records/evidence.ts'
import { activeDecisions } from '../packages/records/decisions.ts'
import type { ReviewReason } from '../domain/acceptance.ts'
import type { BlobsTable, PackageRow } from '../store/tables.ts'
import type { Insertable } from 'kysely'
import { assess, type Assessment, type Check } from './assess.ts'
import { mergeFindings, type EngineFindings } from './merge.ts'
import { eventBase, type Actor, type ReviewDeps } from './deps.ts'
import { announce, cleanUp, publishChanges, type CleanUpDeps } from './settle.ts'

export type ApplyDeps = CleanUpDeps & Pick<ReviewDeps, 'db' | 'clock' | 'audit' | 'engines' | 'settings' | 'offered'>

export interface Applied extends Changed {
  newIds: string[]
  droppedIds: string[]
  /** why it is under review from now on; empty when the check found nothing new to decide */
  reasons: ReviewReason[]
}

/** A file that replaces the record's file: a copy with our signature. */
export interface Replacement {
  blob: Insertable<BlobsTable>
  /** as `Hold.ensure` */
  ensureBytes(): Promise<void>
}

/** What else changes in the same transaction when the check clears a quarantined record. */
export interface Alongside {
  set?: NonNullable<Change['set']>
  replacement?: Replacement | null
}

/**
 * Applies what one engine finds in a package now. A published package with something new to decide goes to review and
 * stays served; `block` counts as `review` here (specification, rule 1). A check never publishes or
 * approves, and removes nothing but a library that an advisory calls malicious.
 * @throws Problem('not_found') when the record is gone
 */
export function applyFindings(
  deps: ApplyDeps,
  id: number,
  seen: EngineFindings,
  check: Check,
  actor: Actor,
  alongside: Alongside = {},
): Promise<Applied> {
  const now = isoTime(deps.clock.now())
  const merge = (known: readonly Finding[]) => mergeFindings(known, seen, deps.engines, now)
  return reviseFindings(deps, id, merge, check, actor, alongside)
}

/**
 * Like `applyFindings`, for other changes of findings: a known-exploited flag, a score.
 * @param revise receives the findings of the record and returns the new ones
 */
export async function reviseFindings(
  deps: ApplyDeps,
  id: number,
  revise: (known: readonly Finding[]) => readonly Found[],
  check: Check,
  actor: Actor,
  { set = {}, replacement = null }: Alongside = {},
): Promise<Applied> {
  const transact = (seen: SeenRemovals) =>
    transaction(deps.db, async (tx) => {
      const before = await lockRecord(tx, id)
      const decisions = (await activeDecisions(tx, [id])).get(id) ?? []
      const findings = revise((before.cve_results ?? []) as Finding[])
      const now = deps.clock.now()
      const assessment = assess(before, findings, check, { decisions, policy: deps.settings(), now })
      // Meanwhile another rescan may have cleared the record, or a person may have published it.
      const isCleared = assessment.kind === 'change' && assessment.event === 'clear'
      if (replacement && isCleared) await replaceFile(tx, before, replacement, seen)
      return record(deps, tx, { before, findings, check, actor, assessment, alongside: isCleared ? set : {} })
    })
  const applied = replacement ? await withBytes(deps.db, replacement.ensureBytes, transact) : await transact(new Map())
  if (applied.row !== applied.before) {
    // Only a malicious library leaves the index because of a check.
    const failure = applied.before.served && !applied.row.served ? await publishChanges(deps, [applied]) : null
    if (failure) deps.onError(failure)
    await cleanUp(deps, [applied])
    announce(deps, [applied])
  }
  return applied
}

async function replaceFile(tx: Db, before: PackageRow, { blob }: Replacement, seen: SeenRemovals): Promise<void> {
  await insertBlobs(tx, [blob], seen)
  await tx.insertInto('pending_deletions').values({ kind: 'file', key: before.sha256 }).execute()
}

interface ToRecord {
  before: PackageRow
  findings: readonly Found[]
  check: Check
  actor: Actor
  assessment: Assessment
  alongside: NonNullable<Change['set']>
}

async function record(
  deps: ApplyDeps,
  tx: Db,
  { before, findings, check, actor, assessment, alongside }: ToRecord,
): Promise<Applied> {
  const { newIds, droppedIds } = assessment
  await noteEvidence(tx, before, check.kept ?? check.evidence ?? [], deps.clock.now())
  if (assessment.kind !== 'change') {
    if (assessment.kind === 'touchScanDate')
      await tx.updateTable('packages').set({ last_scan: deps.clock.now() }).where('id', '=', before.id).execute()
    return { before, row: before, newIds, droppedIds, reasons: [] }
  }
  const { event, reasons } = assessment
  const change: Change = {
    event,
    ...(assessment.findings ? { findings: assessment.findings } : {}),
    set: { ...assessment.set, ...alongside },
    review: assessment.review,
  }
  const changed = await changeRecord(tx, deps.audit, before, change, deps.offered(before.distribution))
  const { row } = changed
  await deps.audit.record(
    {
      ...eventBase(row, actor),
      action: check.mechanism === 'rescan' ? 'RESCAN' : 'CVE_REMATCH',
      result: reasons.length > 0 ? 'WARNING' : 'SUCCESS',
      outcome: row.status,
      detail: `${vulnerabilities(findings.length)}, ${newIds.length} new, ${droppedIds.length} gone`,
      extra: {
        mechanism: check.mechanism,
        previous_status: before.status,
        new_cve_ids: newIds,
        dropped_cve_ids: droppedIds,
        reasons,
      },
    },
    tx,
  )
  return { ...changed, newIds, droppedIds, reasons: row.status === 'pending_review' ? reasons : [] }
}
