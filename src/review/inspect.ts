// Runs the steps of the gate on a quarantined file again, to find out whether a cause for its quarantine is left.
import { dirname } from 'node:path'
import type { PipelineKey, Verdict } from '../domain/status.ts'
import type { Candidate, StepResult } from '../gate/step.ts'
import { ensureDirectory, removeFile } from '../kernel/files.ts'
import type { PackageRow } from '../store/tables.ts'
import type { Evidence } from './assess.ts'
import type { ReviewDeps } from './deps.ts'

export interface Inspection {
  /** verdicts that replace those of the record */
  evidence: readonly Evidence[]
  /** no cause is left */
  clears: boolean
  /** dependencies that are not published; null when that step was not reached */
  missing: string[] | null
  /** a copy with our signature, which takes the place of the stored file; its owner removes it */
  signed: Candidate | null
}

export type RunStep = (key: PipelineKey, on: Candidate) => Promise<StepResult>

/** @param cve the verdict of today's vulnerability scan; null when the scan could not judge */
export async function inspect(
  { pool, staging }: Pick<ReviewDeps, 'pool' | 'staging'>,
  row: PackageRow,
  candidate: Candidate,
  cve: Verdict | null,
  run: RunStep,
): Promise<Inspection> {
  // A name in staging: the signature step writes its copy beside it.
  const path = staging.newPath()
  await ensureDirectory(dirname(path), 0o700)
  try {
    const stored = { format: row.format, sha256: row.sha256, filename: row.filename }
    // Without its bytes a package cannot be served.
    if (!(await pool.copyTo(stored, path))) return refused([])
    return await runSteps(row, { ...candidate, path }, cve, run)
  } finally {
    await removeFile(path)
  }
}

async function runSteps(row: PackageRow, file: Candidate, cve: Verdict | null, run: RunStep): Promise<Inspection> {
  const antivirus = await run('antivirus', file)
  const isInfected = isStillInfected(row.pipeline['antivirus'], antivirus.verdict)
  // The record keeps what it says of an infection until a scan finds the file clean.
  const isEvidence = !isInfected || antivirus.verdict.result === 'infected'
  const seen: Evidence[] = isEvidence ? [{ key: 'antivirus', verdict: antivirus.verdict }] : []
  if (isInfected || isStillBlocked(row.pipeline['cve_scan'], cve)) return refused(seen)

  const signature = await run('gpg', file)
  seen.push({ key: 'gpg', verdict: signature.verdict })
  if (signature.verdict.outcome === 'refuse') return refused(seen)
  const signed = signature.candidate && signature.candidate.path !== file.path ? signature.candidate : null
  try {
    const dependencies = await run('dependencies', signed ?? file)
    seen.push({ key: 'dependencies', verdict: dependencies.verdict })
    return { evidence: seen, clears: true, missing: dependencies.missing ?? null, signed }
  } catch (error) {
    if (signed) await removeFile(signed.path)
    throw error
  }
}

const refused = (evidence: readonly Evidence[]): Inspection => ({
  evidence,
  clears: false,
  missing: null,
  signed: null,
})

/** An infection ends with a scan that finds the file clean; a scan that cannot judge ends nothing. */
export function isStillInfected(before: string | undefined, now: Pick<Verdict, 'outcome' | 'result'>): boolean {
  return now.outcome === 'refuse' || (before === 'infected' && now.result !== 'clean')
}

/** @param now null when today's scan could not judge: the earlier result stays in force */
export function isStillBlocked(before: string | undefined, now: Pick<Verdict, 'result'> | null): boolean {
  return (now?.result ?? before) === 'blocked'
}
