// The one way in: a staged file becomes a settled record, and where the gate lets it, is published.
import { isProblem, Problem } from '../domain/problem.ts'
import type { Settings } from '../domain/settings.ts'
import type { Bus } from '../kernel/bus.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import type { Clock } from '../kernel/clock.ts'
import { isMissing, isStorageFull, removeFile } from '../kernel/files.ts'
import { allEnded } from '../kernel/all-ended.ts'
import { createBatches } from '../kernel/batches.ts'
import type { Offered } from '../formats/format.ts'
import type { Publisher } from '../publish/publisher.ts'
import { insertRecords, type NewRecord } from '../records/insert-records.ts'
import { deleteRecords } from '../records/delete-records.ts'
import type { AuditLog } from '../store/audit-log.ts'
import type { Db } from '../store/db.ts'
import type { Manifests } from '../store/records/manifests.ts'
import type { PackageRow } from '../store/tables.ts'
import type { Pool } from '../store/files/pool.ts'
import type { Staging } from '../store/files/staging.ts'
import type { Candidate, Step, StepEvent } from '../gate/step.ts'
import type { Arrival, IntakeResult } from './arrival.ts'
import { runGate, type GateResult } from '../gate/gate.ts'
import { findDuplicate, identify, type FormatRegistry } from './identify.ts'
import { eventOf, namesOf, recordOf } from './new-record.ts'
import { answerFor, rejectedAnswer } from './answers.ts'

/** Records of one transaction: others of the distribution wait while it lasts. */
const MOST_TOGETHER = 50

export interface Intake {
  /**
   * Takes the staged file over: it is gone when this returns or throws.
   * @throws Problem for everything that leaves no record
   */
  accept(arrival: Arrival): Promise<IntakeResult>
}

export interface IntakeParts {
  db: Db
  clock: Clock
  bus: Bus
  audit: AuditLog
  pool: Pool
  staging: Staging
  manifests: Manifests
  publisher: Publisher
  registry: FormatRegistry
  steps: readonly Step[]
  settings(): Settings
  checkpoint: Checkpoint
  /** removes manifests and bytes of deleted records */
  clean(): Promise<void>
}

/** What an arrival that ends early leaves to be removed and told of. */
interface Known {
  staged: { path: string }[]
  candidate: Candidate | null
  /** tells the publisher that it need not wait for this one any more; twice is harmless */
  settled(): void
}

export function createIntake(parts: IntakeParts): Intake {
  const { db, audit, pool, registry } = parts
  const batches = new Map<string, (input: NewRecord) => Promise<PackageRow>>()

  return {
    async accept(arrival) {
      const known: Known = { staged: [arrival], candidate: null, settled: () => {} }
      try {
        return await take(arrival, known)
      } catch (error) {
        known.settled()
        parts.bus.emit('intake', { status: 'error', findings: [] })
        const outcome = isProblem(error) ? error.code : 'internal_error'
        await audit.record(
          eventOf(arrival, known.candidate, {
            result: 'FAILURE',
            outcome,
            detail: isProblem(error) ? error.detail : null,
          }),
        )
        throw error
      } finally {
        for (const { path } of known.staged) removeFile(path)
      }
    },
  }

  async function take(arrival: Arrival, known: Known): Promise<IntakeResult> {
    const settings = parts.settings()
    const progress = arrival.progress ?? (() => {})
    const done = (name: string, label: string, message: string) =>
      progress({ name, label, status: 'done', message, detail: null })
    parts.checkpoint('staged')
    checkDigest(arrival, settings)
    done('checksum', 'Digest', `SHA-256 ${arrival.digests.sha256}`)
    const candidate = await identify(registry, arrival, arrival.distribution)
    known.candidate = candidate
    done(
      'format',
      'Format',
      `${candidate.format.label} ${candidate.facts.name} ${candidate.facts.version} (${candidate.facts.arch})`,
    )
    const rejected = await findDuplicate(db, candidate)
    if (rejected) {
      await audit.record(
        eventOf(arrival, candidate, {
          result: 'FAILURE',
          outcome: 'rejected',
          detail: 'these bytes were rejected before',
        }),
      )
      parts.bus.emit('intake', { status: 'rejected', findings: [] })
      return rejectedAnswer(candidate, rejected)
    }
    known.settled = parts.publisher.expect(candidate.distribution.codename)
    const gate = await runGate(parts.steps, candidate, settings, progress)
    if (gate.candidate.path !== arrival.path) known.staged.push(gate.candidate)
    parts.checkpoint('verdicts')
    const row = await settle(arrival, gate, progress)
    known.settled()
    await makeGood(row, progress)
    parts.bus.emit('intake', { status: row.status, findings: gate.findings ?? [] })
    announce(row)
    return answerFor(row, gate)
  }

  function checkDigest(arrival: Arrival, settings: Settings): void {
    if (!settings.validation.sha256_check || arrival.declaredSha256 === null) return
    if (arrival.declaredSha256.toLowerCase() === arrival.digests.sha256) return
    throw new Problem('checksum_mismatch', 'the bytes received do not have the declared SHA-256', {
      expected: arrival.declaredSha256,
      actual: arrival.digests.sha256,
    })
  }

  /** Bytes to their durable place, then everything else in one transaction. */
  async function settle(arrival: Arrival, gate: GateResult, progress: (event: StepEvent) => void): Promise<PackageRow> {
    const { candidate } = gate
    const file = { format: candidate.format.id, sha256: candidate.digests.sha256, filename: candidate.filename }
    const path = await parts.staging.identify(candidate.path, file)
    const [keep, isKept] =
      gate.status === 'quarantined'
        ? [() => pool.quarantine(path, file), () => pool.hasQuarantined(file)]
        : [() => pool.keep(path, file), () => pool.has(file)]
    try {
      // A deletion of the same bytes takes the place away again: then it is made under the lock that orders the two.
      const kept = await keep().then(
        () => true,
        (error: unknown) => {
          if (!isMissing(error)) throw error
          return false
        },
      )
      progress({
        name: 'pool',
        label: 'Storage',
        status: 'done',
        message: gate.status === 'quarantined' ? 'in quarantine' : 'stored',
        detail: null,
      })
      parts.checkpoint('pooled')
      const row = await insertTogether(candidate, {
        ...recordOf(arrival, gate, parts.settings(), parts.clock.now()),
        async ensureBytes() {
          if (!kept || !(await isKept())) await keep()
        },
      })
      parts.checkpoint('settled')
      removeFile(path)
      return row
    } catch (error) {
      await parts.staging.discard(path)
      // Somebody else brought the same name in meanwhile: say which of the two conflicts it is.
      if (isProblem(error, 'duplicate_conflict')) await findDuplicate(db, candidate)
      throw error
    }
  }

  /** Records of one distribution that wait for a transaction share the next. */
  function insertTogether({ format, distribution }: Offered, input: NewRecord): Promise<PackageRow> {
    const { codename } = distribution
    let insert = batches.get(codename)
    if (!insert)
      batches.set(
        codename,
        (insert = createBatches((inputs) => insertRecords(db, audit, { format, distribution }, inputs), MOST_TOGETHER)),
      )
    return insert(input)
  }

  /** Manifest and, where the gate lets it, index: an answer is given only when both are there. */
  async function makeGood(row: PackageRow, progress: (event: StepEvent) => void): Promise<void> {
    const published = row.status === 'published'
    if (published) progress({ name: 'index', label: 'Index', status: 'running', message: '', detail: null })
    const manifest = parts.manifests.write([row.id]).then(() => parts.checkpoint('manifest-written'))
    // Both come to their end before anything is taken back.
    const index = published ? parts.publisher.converge(row.distribution) : Promise.resolve()
    await allEnded([manifest, index]).catch((cause: unknown) => takeBack(row, cause))
    progress({ name: 'manifest', label: 'Manifest', status: 'done', message: 'written', detail: null })
    if (published)
      progress({ name: 'index', label: 'Index', status: 'done', message: 'the new index is live', detail: null })
  }

  /** Not acknowledged, so no record remains. */
  async function takeBack(row: PackageRow, cause: unknown): Promise<never> {
    await deleteRecords(db, audit, [row.id], {
      formatOf: (record) => (registry.find(record.distribution) as Offered).format,
      manifestKey: parts.manifests.key,
      auditOf: () => ({
        ...namesOf(row),
        action: 'PUBLISH_FAILURE',
        result: 'FAILURE',
        user: row.imported_by,
        outcome: 'publication_failed',
      }),
    })
    // What fails here too is done by the next recovery.
    if (row.served) await parts.publisher.converge(row.distribution).catch(() => {})
    await parts.clean().catch(() => {})
    if (isProblem(cause) || isStorageFull(cause)) throw cause
    throw new Problem('publication_failed', 'the package could not be published; nothing was stored', {}, { cause })
  }

  function announce(row: PackageRow): void {
    const action = (
      { published: 'published', pending_review: 'held', quarantined: 'quarantined', rejected: 'rejected' } as const
    )[row.status]
    parts.bus.emit('package', {
      action,
      package: row.name,
      version: row.version,
      distribution: row.distribution,
      status: row.status,
    })
  }
}
