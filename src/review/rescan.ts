// Runs the steps of the gate on stored packages again, with what the engines know today. Publishes and approves nothing.
import { decide, isHeldUnscanned } from '../domain/decide.ts'
import { countSeverities, type Finding, type SeverityCounts } from '../domain/finding.ts'
import { Problem } from '../domain/problem.ts'
import { worstRisk } from '../domain/risk.ts'
import type { Coverage, PipelineResult, Verdict } from '../domain/status.ts'
import { isoTime } from '../kernel/clock.ts'
import { removeFile } from '../kernel/files.ts'
import { blobRow } from '../packages/records/stored-file.ts'
import { matchingRecords, recordsOf, type RecordSelector } from '../store/records/artifact-query.ts'
import type { ReviewReason } from '../domain/acceptance.ts'
import type { PackageRow } from '../store/tables.ts'
import { applyFindings, reviseFindings, type Alongside, type Applied, type ApplyDeps } from './apply.ts'
import type { Check } from './assess.ts'
import type { ComponentScan } from './components.ts'
import { eventBase, noSuchPackage, type Actor, type ReviewDeps } from './deps.ts'
import { inspect, type Inspection } from './inspect.ts'
import { judgeAgain } from './judge-again.ts'
import { SCANNED, STEP_TIMEOUT_MS, storedCandidate, stepRunner } from './stored-candidate.ts'

export type RescanDeps = ApplyDeps & Pick<ReviewDeps, 'pool' | 'staging' | 'steps' | 'checkpoint'>

export interface RescanOptions {
  /** milliseconds for each step; 120,000 by default */
  stepTimeoutMs?: number
  /** matches the components inside again */
  components?: Pick<ComponentScan, 'match'>
}

/** The result of a rescan for one record. */
export interface Rescanned {
  distribution: string
  arch: string
  cve_scan: PipelineResult
  cve_count: number
  cve_counts: SeverityCounts
  previous_status: string
  new_status: string
  new_cve_ids: string[]
  dropped_cve_ids: string[]
  reasons: ReviewReason[]
  scanned_at: string
  db_version: string | null
  coverage: Coverage | null
  /** orders records, worst first */
  risk: number
}

/**
 * Rescans every record that the selector matches, and returns the worst first. A quarantined record runs all steps.
 * @throws Problem('not_found'), 'scanner_unavailable' when an engine fails, 'timeout' when one is too slow; records that
 * were rescanned before stay changed
 */
export async function rescan(
  deps: RescanDeps,
  selector: RecordSelector,
  actor: Actor,
  options: RescanOptions = {},
): Promise<Rescanned[]> {
  const done: Rescanned[] = []
  for (const { id } of await matchingRecords(deps.db, selector).select('id').execute()) {
    // Read only now: the scans of earlier records take time.
    const [row] = await recordsOf(deps.db, [id])
    if (row) done.push(await rescanOne(deps, row, actor, options))
  }
  if (done.length === 0) throw noSuchPackage(selector)
  return done.sort((a, b) => b.risk - a.risk)
}

async function rescanOne(
  deps: RescanDeps,
  row: PackageRow,
  actor: Actor,
  { stepTimeoutMs = STEP_TIMEOUT_MS, components }: RescanOptions,
): Promise<Rescanned> {
  const candidate = await storedCandidate(deps, row)
  const run = stepRunner(deps, stepTimeoutMs)
  const scan = await run('cve_scan', candidate)
  const { verdict } = scan
  if (verdict.result === 'error')
    throw new Problem('scanner_unavailable', verdict.message, {}, { retryAfterSeconds: 60 })
  const cve = SCANNED.includes(verdict.result) ? verdict : null
  const judged =
    cve && isHeldUnscanned(row) ? await judgeAgain(deps, row, { candidate, run, cve: scan }, actor) : 'left'
  if (typeof judged === 'object') return shownOf(deps, row, verdict, judged)
  const inspection = row.status === 'quarantined' ? await inspect(deps, row, candidate, cve, run) : null
  const check: Check = {
    mechanism: 'rescan',
    evidence: [...(cve ? [{ ...scan.seen, check: 'cve_scan' as const }] : []), ...(inspection?.evidence ?? [])],
  }
  const applied = await withInspected(deps, row, inspection, (alongside) => {
    if (cve) {
      const seen = { engine: deps.engines[0] ?? '', findings: scan.seen.findings ?? [] }
      return applyFindings(deps, row.id, seen, check, actor, alongside)
    }
    if (isCleared(deps, row, check)) return reviseFindings(deps, row.id, (known) => [...known], check, actor, alongside)
    return notScanned(deps, row, verdict.result, actor)
  })
  const matched = (await components?.match(row.id, 'rescan', actor)) ?? null
  const total = matched ? joined(applied, matched) : applied
  return shownOf(deps, row, verdict, total)
}

const isCleared = ({ settings, clock }: RescanDeps, row: PackageRow, { evidence = [] }: Check) =>
  decide(settings(), { ...row, findings: [] }, { checks: evidence }, [], clock.now()).event === 'clear'

function shownOf({ clock }: RescanDeps, row: PackageRow, verdict: Verdict, total: Applied): Rescanned {
  const known = (total.row.cve_results ?? []) as Finding[]
  return {
    distribution: row.distribution,
    arch: row.arch,
    cve_scan: verdict.result,
    cve_count: known.length,
    cve_counts: countSeverities(known),
    previous_status: total.before.status,
    new_status: total.row.status,
    new_cve_ids: total.newIds,
    dropped_cve_ids: total.droppedIds,
    reasons: total.reasons,
    scanned_at: isoTime(clock.now()),
    db_version: verdict.coverage?.database_date ?? verdict.coverage?.engine_version ?? null,
    coverage: verdict.coverage ?? null,
    risk: worstRisk(known),
  }
}

/**
 * Makes the files of an inspection durable before the transaction: a signed copy is stored in the pool first. If no
 * record refers to it afterwards, it is removed again.
 */
async function withInspected(
  { staging, pool, clock }: RescanDeps,
  row: PackageRow,
  inspection: Inspection | null,
  apply: (alongside: Alongside) => Promise<Applied>,
): Promise<Applied> {
  const set = inspection?.missing ? { deps_missing: JSON.stringify(inspection.missing) } : {}
  const signed = inspection?.signed
  if (!signed) return apply({ set })
  const { filename, digests } = signed
  const file = { format: row.format, sha256: digests.sha256, filename }
  const path = await staging.identify(signed.path, file)
  const hold = pool.hold(path, file, 'pool')
  const blob = blobRow(signed, signed.facts, clock.now())
  let isReferred = false
  try {
    const applied = await apply({
      set: { ...set, sha256: digests.sha256 },
      replacement: { blob, ensureBytes: () => hold.ensure() },
    })
    isReferred = applied.row.sha256 === digests.sha256
    return applied
  } finally {
    if (isReferred) await removeFile(path)
    else await staging.discard(path)
  }
}

/** Combines the results of two successive checks. */
function joined(first: Applied, then: Applied): Applied {
  const newIds = [...new Set([...first.newIds, ...then.newIds])]
  const droppedIds = [...new Set([...first.droppedIds, ...then.droppedIds])]
  return { before: first.before, row: then.row, newIds, droppedIds, reasons: [...first.reasons, ...then.reasons] }
}

/** The distribution has no advisories, or scanning is switched off: only audited, nothing changes. */
async function notScanned(deps: RescanDeps, row: PackageRow, result: PipelineResult, actor: Actor): Promise<Applied> {
  await deps.audit.record({
    ...eventBase(row, actor),
    action: 'RESCAN',
    result: 'WARNING',
    outcome: result,
    detail: 'the package could not be judged',
  })
  return { before: row, row, newIds: [], droppedIds: [], reasons: [] }
}
