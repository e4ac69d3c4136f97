// The drift scan: what it needs from the other rooms.
import { createAuditFiles } from '../../operations/drift/audit-files.ts'
import { createConfirm, createInspections, driftState } from '../../operations/drift/drift.ts'
import { createHashing } from '../../operations/drift/hashing.ts'
import { createOwnSignatures } from '../../operations/drift/own-signatures.ts'
import type { RemedyDeps } from '../../operations/drift/remedies.ts'
import { driftRepairKind } from '../../operations/drift/repair.ts'
import { driftScanKind } from '../../operations/drift/scan.ts'
import type { Foundation } from './foundation.ts'
import type { Gate } from './gate.ts'
import type { Publishing } from './publishing.ts'

/** The scan reads package files at this rate: a tenth of what a slow disk delivers. */
const BYTES_PER_SECOND = 20_000_000

export type Drift = ReturnType<typeof createDrift>

export function createDrift(foundation: Foundation, publishing: Publishing, { review }: Gate) {
  const { keys, all, publisher, readers, auditKey, checkpoints } = publishing
  const { db, clock, paths, pool, localPool: local, objectStore: store, manifests, audit } = foundation
  const deps = {
    ...{ db, clock, paths, pool, local, store, manifests, all, keys },
    hashing: createHashing(BYTES_PER_SECOND),
    signatures: createOwnSignatures(keys, clock, readers),
    auditFiles: createAuditFiles({
      ...{ db, clock, paths },
      auditLog: { key: auditKey, isSigned: keys.isSigned, settle: checkpoints.writeWhenDue },
    }),
  }
  const confirm = createConfirm(deps)
  const remedies: RemedyDeps = {
    ...deps,
    quarantine: (record, reason, by) =>
      review.quarantine(record, reason, { name: by, origin: { ip: null, requestId: null } }),
  }
  return {
    kinds: [
      driftScanKind({ db, clock, audit, inspections: createInspections(deps), confirm }),
      driftRepairKind({ remedies, confirm, audit, publisher }),
    ],
    state: () => driftState(db, clock),
  }
}
