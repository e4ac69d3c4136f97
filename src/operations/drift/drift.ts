// The drift scan for other rooms: its inspections in order, and the result of the last scan.
import type { DriftArea } from '../../domain/drift.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Db } from '../../store/db.ts'
import type { AuditFiles } from './audit-files.ts'
import { bitRot } from './bit-rot.ts'
import { countFindings, type FindingCount } from './findings.ts'
import { confirmIndex, indexFiles, type IndexDeps } from './index-files.ts'
import type { Confirm, Inspection } from './inspection.ts'
import { confirmListing, listingFiles } from './listing-files.ts'
import { confirmManifest, recordManifests, unknownManifests, type ManifestDeps } from './manifest-files.ts'
import { confirmOwn, serviceFiles, type OwnFilesDeps } from './own-files.ts'
import { confirmLinked, linkedPackages, unknownPackages } from './package-files.ts'
import { DRIFT_SCAN } from './scan.ts'
import { confirmStored, storedFiles, unknownBytes, unknownObjects, type StoredBytesDeps } from './stored-bytes.ts'

export type DriftDeps = StoredBytesDeps &
  IndexDeps &
  ManifestDeps &
  OwnFilesDeps & {
    clock: Clock
    auditFiles: AuditFiles
  }

/** Digests are last: they take hours, the other inspections minutes. */
export function createInspections(deps: DriftDeps): Inspection[] {
  return [
    serviceFiles(deps),
    deps.auditFiles.inspection,
    storedFiles(deps),
    unknownBytes(deps),
    ...(deps.store ? [unknownObjects({ db: deps.db, store: deps.store })] : []),
    indexFiles(deps),
    listingFiles(deps),
    linkedPackages(deps),
    unknownPackages(deps),
    recordManifests(deps),
    unknownManifests(deps),
    bitRot(deps, () => deps.clock.now()),
  ]
}

export function createConfirm(deps: DriftDeps): Confirm {
  const stored = confirmStored(deps)
  const own = confirmOwn(deps)
  const byArea: Record<DriftArea, Confirm> = {
    ...{ pool: stored, quarantine: stored, keys: own, settings: own },
    tree: confirmLinked(deps),
    index: confirmListing(deps, confirmIndex(deps)),
    manifests: confirmManifest(deps),
    audit: (suspect) => deps.auditFiles.confirm(suspect),
  }
  return (suspect) => byArea[suspect.area](suspect)
}

/** The scan runs daily: after two missed scans the result is unknown. */
const STALE_SECONDS = 2.5 * 86_400

export interface DriftState {
  status: 'clean' | 'drift' | 'stale' | 'unknown'
  /** end of the last complete scan */
  last_scan: Date | null
  age_seconds: number | null
  findings: FindingCount[]
}

/** The result of the last scan. Without a scan, or after an old one, nothing is known. */
export async function driftState(db: Db, clock: Clock): Promise<DriftState> {
  const last = await db
    .selectFrom('tasks')
    .select('finished_at')
    .where('kind', '=', DRIFT_SCAN)
    .where('state', '=', 'done')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  const findings = await countFindings(db)
  const at = last?.finished_at ?? null
  const age = at === null ? null : Math.max(0, Math.floor((clock.now().getTime() - at.getTime()) / 1000))
  const status = findings.length > 0 ? 'drift' : age === null ? 'unknown' : age > STALE_SECONDS ? 'stale' : 'clean'
  return { status, last_scan: at, age_seconds: age, findings }
}
