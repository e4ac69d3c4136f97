// Builds the row of a copy from the source's row and the evidence in its new distribution. Pure.
import type { Origin } from '../../domain/audit.ts'
import { resultsOf, type Decision } from '../../domain/decide.ts'
import { countSeverities } from '../../domain/finding.ts'
import { openFindings } from '../../domain/review-due.ts'
import type { Scopes } from '../../domain/scopes.ts'
import { asStep } from '../../gate/gate.ts'
import type { PackageRow } from '../../store/tables.ts'
import type { NewRecord } from '../records/insert-records.ts'

/** Who copies, and why. */
export interface CopyMeta {
  method: 'promotion' | 'migration'
  importedBy: string
  origin: Origin
  /** what the caller's token may bring */
  scopes?: Scopes | null
}

/** The copy's row: results of checks in its new distribution replace those of the source. Pure. */
export function copiedRecord(
  source: PackageRow,
  decision: Decision,
  missing: readonly string[],
  codename: string,
  meta: CopyMeta,
  now: Date,
): NewRecord['record'] {
  const { verdicts, status } = decision
  const { format, name, version, arch, sha256, received_sha256, import_group } = source
  const findings = decision.findings ?? source.cve_results
  const scan = verdicts.find(({ check }) => check === 'cve_scan')
  const summary = scan && {
    ...{ ...source.cve_summary, scanned: true, passed: openFindings(decision.findings ?? []).length === 0 },
    ...countSeverities(decision.findings ?? []),
  }
  return {
    ...{ distribution: codename, format, name, version, arch, sha256, received_sha256, import_group },
    ...{ status, cve_status: decision.cveStatus ?? source.cve_status, held_reason: decision.heldReason },
    ...{ imported_at: now, imported_by: meta.importedBy, import_method: meta.method },
    last_scan: scan ? now : source.last_scan,
    review_due_at: status === 'pending_review' ? decision.dueAt : null,
    promoted_from: source.distribution,
    pipeline: JSON.stringify({ ...source.pipeline, ...resultsOf(verdicts) }),
    validation_steps: JSON.stringify(stepsOf(source, decision, meta)),
    coverage: JSON.stringify({ ...source.coverage, ...(scan ? { cve_scan: scan.coverage ?? null } : {}) }),
    deps_missing: JSON.stringify(missing),
    tags: JSON.stringify(source.tags),
    cve_summary: summary ? JSON.stringify(summary) : source.cve_summary && JSON.stringify(source.cve_summary),
    cve_results: findings && JSON.stringify(findings),
  }
}

function stepsOf(source: PackageRow, { verdicts, status }: Decision, meta: CopyMeta): object[] {
  const replaced = new Set(['provenance', 'publication', ...verdicts.map(({ name }) => name)])
  const kept = (source.validation_steps as { name: string }[]).filter(({ name }) => !replaced.has(name))
  const step = (name: string, message: string) => ({ name, passed: true, message, detail: null })
  return [
    ...kept,
    ...verdicts.map(asStep),
    step(
      'provenance',
      `${meta.method} from ${source.distribution} by ${meta.importedBy}, with its verdicts and decisions`,
    ),
    ...(status === 'published' ? [step('publication', 'offered to clients')] : []),
  ]
}
