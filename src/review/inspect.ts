// Runs the steps of the gate on a stored file again, until one finds a cause for quarantine.
import { dirname } from 'node:path'
import { causeLeft } from '../domain/decide.ts'
import type { Seen } from '../domain/evidence.ts'
import type { PipelineKey, Verdict } from '../domain/status.ts'
import type { Candidate, StepResult } from '../gate/step.ts'
import { ensureDirectory, removeFile } from '../kernel/files.ts'
import type { PackageRow } from '../store/tables.ts'
import type { ReviewDeps } from './deps.ts'

export interface Inspection {
  /** what the steps saw; includes the signature unless an earlier step refuses the file */
  evidence: readonly Seen[]
  /** dependencies that are not published; null when that step was not reached */
  missing: string[] | null
  /** a copy with our signature, to replace the stored file; the caller removes it */
  signed: Candidate | null
}

/** Runs a step and adds the policy's verdict on its evidence. */
export type RunStep = (key: PipelineKey, on: Candidate) => Promise<StepResult & { verdict: Verdict }>

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
    // A package without its bytes cannot be served.
    if (!(await pool.copyTo(stored, path))) return NOTHING
    return await runSteps(row, { ...candidate, path }, cve, run)
  } finally {
    await removeFile(path)
  }
}

async function runSteps(row: PackageRow, file: Candidate, cve: Verdict | null, run: RunStep): Promise<Inspection> {
  const antivirus = await run('antivirus', file)
  const { result } = antivirus.verdict
  // An infected record keeps its antivirus result until a scan finds the file clean.
  const isEvidence = row.pipeline['antivirus'] !== 'infected' || result === 'clean' || result === 'infected'
  const evidence: Seen[] = isEvidence ? [{ ...antivirus.seen, check: 'antivirus' }] : []
  if (causeLeft(row, [antivirus.verdict, ...(cve ? [cve] : [])])) return { ...NOTHING, evidence }

  const signature = await run('gpg', file)
  evidence.push({ ...signature.seen, check: 'gpg' })
  if (causeLeft({ pipeline: {} }, [signature.verdict])) return { ...NOTHING, evidence }
  const signed = signature.candidate && signature.candidate.path !== file.path ? signature.candidate : null
  try {
    const dependencies = await run('dependencies', signed ?? file)
    evidence.push({ ...dependencies.seen, check: 'dependencies' })
    return { evidence, missing: dependencies.missing ?? null, signed }
  } catch (error) {
    if (signed) await removeFile(signed.path)
    throw error
  }
}

const NOTHING: Inspection = { evidence: [], missing: null, signed: null }
