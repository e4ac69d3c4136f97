// The drift scan: compares database, pool and published trees, and reports differences. It repairs nothing.
import type { Json } from '../../domain/json.ts'
import type { TaskContext, TaskKind } from '../../domain/tasks.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'
import {
  countFindings,
  deleteOldFindings,
  noteFinding,
  openFindings,
  resolveFinding,
  takeUnreported,
  type Finding,
} from './findings.ts'
import type { Confirm, Inspection } from './inspection.ts'

export const DRIFT_SCAN = 'drift_scan'

export interface ScanDeps {
  db: Db
  clock: Clock
  audit: Pick<AuditLog, 'record'>
  inspections: readonly Inspection[]
  confirm: Confirm
}

interface Cursor {
  /** milliseconds since 1970 */
  began: number
  /** index of the inspection */
  step: number
  /** where the inspection continues */
  after: string | null
  checked: number
}

/** Most findings that an alert names. */
const EXAMPLES = 20
const SAVE_MS = 2_000

/** An interrupted scan continues at the batch where it stopped. */
export function driftScanKind(deps: ScanDeps): TaskKind {
  return { kind: DRIFT_SCAN, lane: 'maintenance', leaderOnly: true, run: (context) => scan(deps, context) }
}

async function scan(deps: ScanDeps, context: TaskContext): Promise<Json> {
  const { db, clock, inspections } = deps
  const cursor: Cursor = (context.cursor as Cursor | null) ?? {
    ...{ began: clock.now().getTime(), step: 0, after: null, checked: 0 },
  }
  let savedAt = performance.now()
  for (; cursor.step < inspections.length; cursor.step++, cursor.after = null) {
    // The last inspection compares digests, which takes hours.
    if (cursor.step === inspections.length - 1) await report(deps)
    const { name, suspects } = inspections[cursor.step]!
    let checked = 0
    for await (const batch of suspects(cursor.after, context.signal)) {
      for (const suspect of batch.suspects) {
        context.signal.throwIfAborted()
        const verdict = await deps.confirm(suspect)
        if (verdict.state === 'faulty') await noteFinding(db, verdict.suspect, clock.now())
      }
      cursor.after = batch.after
      checked += batch.checked
      cursor.checked += batch.checked
      if (performance.now() - savedAt < SAVE_MS) continue
      await context.save({ ...cursor })
      savedAt = performance.now()
    }
    context.line(`${name}: ${checked} checked`)
  }
  const resolved = await confirmOpen(deps, new Date(cursor.began), context.signal)
  await report(deps)
  await deleteOldFindings(db, clock.now())
  const counts = await countFindings(db)
  const open = counts.reduce((sum, { n }) => sum + n, 0)
  context.line(`${open} findings are open, ${resolved} are resolved`)
  return { checked: cursor.checked, findings: open, resolved }
}

/** Confirms open findings that this scan did not see: most are gone, and not every scan compares all digests. */
async function confirmOpen({ db, clock, confirm }: ScanDeps, began: Date, signal: AbortSignal): Promise<number> {
  let resolved = 0
  for await (const findings of openFindings(db, { unseenSince: began })) {
    for (const finding of findings) {
      signal.throwIfAborted()
      const verdict = await confirm(finding)
      if (verdict.state === 'faulty') await noteFinding(db, verdict.suspect, clock.now())
      if (verdict.state !== 'sound') continue
      await resolveFinding(db, finding.subject, 'gone', clock.now())
      resolved++
    }
  }
  return resolved
}

/** Records one alert for all findings that no alert has named. */
async function report({ db, audit }: ScanDeps): Promise<void> {
  await transaction(db, async (tx) => {
    const { total, first } = await takeUnreported(tx, EXAMPLES)
    if (total === 0) return
    await audit.record(
      {
        action: 'INTEGRITY_ALERT',
        result: 'FAILURE',
        user: 'scheduler',
        outcome: 'drift',
        detail: `${total} ${total === 1 ? 'file differs' : 'files differ'} from what was stored: ${first.slice(0, 3).map(shown).join('; ')}${total > 3 ? '; and others' : ''}`,
        extra: {
          findings: total,
          first: first.map(({ subject, area, fault, detail }) => ({ subject, area, fault, detail })),
        },
      },
      tx,
    )
  })
}

const shown = ({ subject, fault }: Finding) => `${subject} (${fault.replace('_', ' ')})`
