// Looks at packages again with the steps of the intake, against what the engines know today. Publishes and approves nothing.
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { countSeverities, type Finding, type SeverityCounts } from '../domain/finding.ts'
import { Problem } from '../domain/problem.ts'
import { worstRisk } from '../domain/risk.ts'
import type { Settings } from '../domain/settings.ts'
import type { Coverage, PipelineKey, PipelineResult } from '../domain/status.ts'
import type { Candidate, StepResult } from '../gate/step.ts'
import { isoTime } from '../kernel/clock.ts'
import { ensureDirectory, linkFile } from '../kernel/files.ts'
import { packFacts, unpackFacts } from '../store/files/blobs.ts'
import { selectRecords, type RecordSelector } from '../store/records/artifact-query.ts'
import type { PackageRow, ReviewReason } from '../store/tables.ts'
import { applyFindings, reviseFindings, type Applied, type Evidence, type Look } from './apply.ts'
import type { ComponentScan } from './components.ts'
import { eventBase, type Actor, type ReviewParts } from './parts.ts'

/** What a rescan says of one record. */
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

/** The look at libraries inside a record's file. */
export type Libraries = Pick<ComponentScan, 'match'>

const SCANNED: readonly PipelineResult[] = ['no_findings', 'allowed', 'warning', 'review', 'blocked']

/**
 * Rescans every record the selector means, worst first in the answer. A quarantined one is looked at by all steps.
 * @param options.stepTimeoutMs for each step
 * @throws Problem('not_found'), 'scanner_unavailable' when an engine fails, 'timeout' when one is too slow; what was done until then stays
 */
export async function rescan(
  parts: ReviewParts,
  selector: RecordSelector,
  actor: Actor,
  options: { stepTimeoutMs?: number; libraries?: Libraries } = {},
): Promise<Rescanned[]> {
  const rows = await selectRecords(parts.db, selector)
  if (rows.length === 0)
    throw new Problem(
      'not_found',
      `there is no package ${[selector.name, selector.version, selector.distribution, selector.arch].filter(Boolean).join(' ')}`,
    )
  const done: Rescanned[] = []
  for (const row of rows) done.push(await rescanOne(parts, row, actor, options))
  return done.sort((a, b) => b.risk - a.risk)
}

async function rescanOne(
  parts: ReviewParts,
  row: PackageRow,
  actor: Actor,
  { stepTimeoutMs: timeoutMs = 120_000, libraries }: { stepTimeoutMs?: number; libraries?: Libraries },
): Promise<Rescanned> {
  const blob = await parts.db.selectFrom('blobs').selectAll().where('sha256', '=', row.sha256).executeTakeFirstOrThrow()
  const { format, distribution } = parts.offered(row.distribution)
  const { sha256, sha512, sha1, md5 } = blob
  const digests = { sha256, sha512, sha1, md5 }
  const candidate: Candidate = {
    format,
    distribution,
    facts: unpackFacts(blob),
    filename: row.filename,
    sizeBytes: row.size_bytes,
    digests,
    receivedSha256: row.received_sha256,
    path: '',
  }
  const run = (key: PipelineKey, on: Candidate) => runStep(parts, key, on, timeoutMs)
  const { verdict, findings } = await run('cve_scan', candidate)
  if (verdict.result === 'error')
    throw new Problem('scanner_unavailable', verdict.message, {}, { retryAfterSeconds: 60 })
  const scanned = SCANNED.includes(verdict.result)
  const evidence: Evidence[] = scanned ? [{ key: 'cve_scan', verdict }] : []
  const look: Inspected =
    row.status === 'quarantined'
      ? await inspect(parts, row, candidate, evidence, scanned, run)
      : { mechanism: 'rescan', evidence }
  let applied: Applied
  try {
    applied = scanned
      ? await applyFindings(parts, row.id, { engine: parts.engines[0] ?? '', findings: findings ?? [] }, look, actor)
      : look.clears
        ? await reviseFindings(parts, row.id, (known) => [...known], look, actor)
        : await nothingLearnt(parts, row, verdict.result, actor)
  } finally {
    await look.cleanUp?.()
  }
  const inside = (await libraries?.match(row.id, 'rescan', actor)) ?? null
  if (inside) applied = joined(applied, inside)
  const known = (applied.row.cve_results ?? []) as Finding[]
  return {
    distribution: row.distribution,
    arch: row.arch,
    cve_scan: verdict.result,
    cve_count: known.length,
    cve_counts: countSeverities(known),
    previous_status: applied.before.status,
    new_status: applied.row.status,
    new_cve_ids: applied.newIds,
    dropped_cve_ids: applied.droppedIds,
    reasons: applied.reasons,
    scanned_at: isoTime(parts.clock.now()),
    db_version: verdict.coverage?.database_date ?? verdict.coverage?.engine_version ?? null,
    coverage: verdict.coverage ?? null,
    risk: worstRisk(known),
  }
}

/** Two looks one after another, as one. */
function joined(first: Applied, then: Applied): Applied {
  const newIds = [...new Set([...first.newIds, ...then.newIds])]
  const droppedIds = [...new Set([...first.droppedIds, ...then.droppedIds])]
  return { before: first.before, row: then.row, newIds, droppedIds, reasons: [...first.reasons, ...then.reasons] }
}

/** No advisories for that distribution, or scanning is switched off: an answer, which changes nothing. */
async function nothingLearnt(
  parts: ReviewParts,
  row: PackageRow,
  word: PipelineResult,
  actor: Actor,
): Promise<Applied> {
  await parts.audit.record({
    ...eventBase(row, actor),
    action: 'RESCAN',
    result: 'WARNING',
    outcome: word,
    detail: 'nothing could be said',
  })
  return { before: row, row, newIds: [], droppedIds: [], reasons: [] }
}

/** `cleanUp` removes what looking has left in staging. */
type Inspected = Look & { cleanUp?(): Promise<void> }
type RunStep = (key: PipelineKey, on: Candidate) => Promise<StepResult>

/**
 * Whether a quarantined package has a cause left. What was refused by a scan is let out only by a scan that was really
 * made; a step that cannot say anything today leaves the cause of then.
 */
async function inspect(
  parts: ReviewParts,
  row: PackageRow,
  candidate: Candidate,
  evidence: Evidence[],
  scanned: boolean,
  run: RunStep,
): Promise<Inspected> {
  const look: Look = { mechanism: 'rescan', evidence }
  const blocked =
    evidence.some(({ verdict }) => verdict.result === 'blocked') || (!scanned && row.pipeline['cve_scan'] === 'blocked')
  const file = { format: row.format, sha256: row.sha256, filename: row.filename }
  const from = await parts.pool.locate(file)
  // Without bytes there is nothing to let out.
  if (from === null) return look
  // A name of its own: the signature step writes beside it.
  const path = parts.staging.newPath()
  await ensureDirectory(dirname(path), 0o700)
  await linkFile(from, path)
  const cleanUp = () => rm(path, { force: true })
  try {
    const antivirus = await run('antivirus', { ...candidate, path })
    evidence.push({ key: 'antivirus', verdict: antivirus.verdict })
    const infected =
      antivirus.verdict.outcome === 'refuse' ||
      (row.pipeline['antivirus'] === 'infected' && antivirus.verdict.result !== 'clean')
    // What it said of an infection stands until the file is seen to be clean.
    if (infected && antivirus.verdict.result !== 'infected') evidence.pop()
    if (infected || blocked) return { ...look, cleanUp }
    const signature = await run('gpg', { ...candidate, path })
    evidence.push({ key: 'gpg', verdict: signature.verdict })
    if (signature.verdict.outcome === 'refuse') return { ...look, cleanUp }
    const settled = signature.candidate ?? candidate
    const dependencies = await run('dependencies', settled)
    evidence.push({ key: 'dependencies', verdict: dependencies.verdict })
    const missing = dependencies.missing ? { deps_missing: JSON.stringify(dependencies.missing) } : {}
    const signed = signature.candidate && signature.candidate.path !== path ? signature.candidate : null
    return {
      ...look,
      clears: true,
      async alongside(tx) {
        if (!signed) return missing
        const { facts, files } = packFacts(signed.facts)
        const blob = {
          ...signed.digests,
          format: row.format,
          filename: signed.filename,
          size_bytes: signed.sizeBytes,
          facts,
          files,
          created_at: parts.clock.now(),
        }
        await tx
          .insertInto('blobs')
          .values(blob)
          .onConflict((c) => c.column('sha256').doUpdateSet({ filename: signed.filename }))
          .execute()
        await parts.pool.keep(signed.path, {
          format: row.format,
          sha256: signed.digests.sha256,
          filename: signed.filename,
        })
        await tx.insertInto('pending_deletions').values({ kind: 'file', key: row.sha256 }).execute()
        return { ...missing, sha256: signed.digests.sha256, filename: signed.filename, size_bytes: signed.sizeBytes }
      },
      async cleanUp() {
        await cleanUp()
        if (signed) await rm(signed.path, { force: true })
      },
    }
  } catch (error) {
    await cleanUp()
    throw error
  }
}

async function runStep(
  parts: ReviewParts,
  key: PipelineKey,
  candidate: Candidate,
  timeoutMs: number,
): Promise<StepResult> {
  const step = parts.steps.find((step) => step.key === key)
  if (!step) throw new Error(`the intake has no step ${key}`)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Problem('timeout', `the step ${step.label} takes too long`)), timeoutMs)
  })
  try {
    return await Promise.race([step.run(candidate, saying(parts.settings())), late])
  } finally {
    clearTimeout(timer)
  }
}

/** "Nothing can be said" is an answer here, not a reason to refuse one. */
function saying(settings: Settings): Settings {
  return { ...settings, validation: { ...settings.validation, on_unscanned: 'hold' } }
}
