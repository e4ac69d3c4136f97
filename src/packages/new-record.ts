// Builds the new record and its audit entry from the arrival and the gate's result. Pure.
import type { AuditEvent } from '../domain/audit.ts'
import type { PackageStatus } from '../domain/status.ts'
import type { NewRecord } from './records/insert-records.ts'
import { blobRow } from './records/stored-file.ts'
import type { PackageRow } from '../store/tables.ts'
import type { Candidate, Staged } from '../gate/step.ts'
import type { Arrival, Listing, Meta } from './arrival.ts'
import type { GateResult } from '../gate/gate.ts'

/** The audit result of a record that arrives with this status. */
export const RESULTS: Record<PackageStatus, AuditEvent['result']> = {
  published: 'SUCCESS',
  pending_review: 'WARNING',
  quarantined: 'FAILURE',
  rejected: 'FAILURE',
}

/** The keys by which events name a record. */
export const namesOf = (row: Pick<PackageRow, 'name' | 'version' | 'distribution' | 'arch'>) => ({
  package: row.name,
  version: row.version,
  distribution: row.distribution,
  arch: row.arch,
})

/** What the audit entry states about an arrival. */
export interface AuditSubject {
  codename: string | null
  staged?: Staged
  candidate?: Candidate
  /** names the package of an import until its file is read */
  listing?: Listing | undefined
}

export function eventOf(
  meta: Meta,
  { codename, staged, candidate, listing }: AuditSubject,
  said: Pick<AuditEvent, 'result' | 'outcome' | 'detail'>,
): AuditEvent {
  return {
    action: meta.method === 'upload' ? 'UPLOAD' : 'IMPORT',
    user: meta.importedBy,
    package: candidate?.facts.name ?? listing?.package ?? null,
    version: candidate?.facts.version ?? listing?.version ?? null,
    arch: candidate?.facts.arch ?? listing?.arch ?? null,
    distribution: codename,
    ip: meta.origin.ip,
    requestId: meta.origin.requestId,
    extra: {
      ...(staged ? { sha256: staged.digests.sha256, size_bytes: staged.sizeBytes } : {}),
      ...(listing ? { source_id: listing.sourceId } : {}),
      ...(meta.group ? { import_group: meta.group } : {}),
    },
    ...said,
  }
}

export function recordOf(
  arrival: Arrival,
  meta: Meta,
  listing: Listing | undefined,
  gate: GateResult,
  now: Date,
): Omit<NewRecord, 'ensureBytes' | 'entries'> {
  const { candidate } = gate
  const { facts, digests, format, distribution } = candidate
  const worst = gate.steps.find((step) => !step.passed)
  return {
    blob: blobRow(candidate, facts, now),
    evidence: gate.evidence,
    audit: eventOf(
      meta,
      { codename: distribution.codename, staged: arrival, candidate, listing },
      {
        result: RESULTS[gate.status],
        outcome: gate.status,
        detail: worst?.message ?? null,
      },
    ),
    record: {
      distribution: distribution.codename,
      format: format.id,
      name: facts.name,
      version: facts.version,
      arch: facts.arch,
      status: gate.status,
      cve_status: gate.cveStatus,
      held_reason: gate.heldReason,
      sha256: digests.sha256,
      received_sha256: candidate.receivedSha256,
      imported_at: now,
      imported_by: meta.importedBy,
      import_method: meta.method,
      import_group: meta.group ?? null,
      source_id: listing?.sourceId ?? null,
      pipeline: JSON.stringify(gate.pipeline),
      validation_steps: JSON.stringify(allSteps(arrival, meta, gate)),
      coverage: JSON.stringify(gate.coverage),
      deps_missing: JSON.stringify(gate.missing),
      tags: '[]',
      cve_summary: gate.cveSummary ? JSON.stringify(gate.cveSummary) : null,
      cve_results: gate.findings ? JSON.stringify(gate.findings) : null,
      last_scan: gate.cveSummary?.['scanned'] ? now : null,
      review_due_at: gate.status === 'pending_review' ? gate.dueAt : null,
    },
    review: reviewOf(meta.method, gate.status, now),
  }
}

export function reviewOf(method: string, status: PackageStatus, now: Date): NewRecord['review'] {
  if (status === 'pending_review') return { review_origin: method, review_since: now }
  if (status === 'quarantined') return { quarantined_at: now, quarantined_by: 'system' }
  return null
}

/** `validation_steps` of the record: the steps before the gate, the gate's steps, and the publication. */
function allSteps(arrival: Arrival, meta: Meta, gate: GateResult) {
  const { facts, format } = gate.candidate
  const plain = (name: string, message: string) => ({ name, passed: true, message, detail: null })
  return [
    plain(
      'format',
      `${format.label} ${facts.name} ${facts.version} (${facts.arch}), SHA-256 ${arrival.digests.sha256}`,
    ),
    plain('provenance', `${meta.method} by ${meta.importedBy}`),
    ...gate.steps,
    ...(gate.status === 'published' ? [plain('publication', 'offered to clients')] : []),
  ]
}
