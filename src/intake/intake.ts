// The only way in: receive, identify, gate, settle, publish.
import { isProblem, Problem } from '../domain/problem.ts'
import type { Settings } from '../domain/settings.ts'
import { runGate, type GateResult } from '../gate/gate.ts'
import type { Candidate, Step, StepEvent } from '../gate/step.ts'
import type { Bus } from '../kernel/bus.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import type { Clock } from '../kernel/clock.ts'
import { removeFile } from '../kernel/files.ts'
import type { Publisher } from '../publish/publisher.ts'
import { announceRecord } from '../records/announce.ts'
import type { AuditLog } from '../store/audit-log.ts'
import type { Db } from '../store/db.ts'
import type { Pool } from '../store/files/pool.ts'
import type { Staging } from '../store/files/staging.ts'
import type { PackageRow } from '../store/tables.ts'
import { answerFor, rejectedAnswer } from './answers.ts'
import type { Arrival, IntakeResult, Meta, Source } from './arrival.ts'
import { findDuplicate, identify, type FormatRegistry } from './identify.ts'
import { eventOf, recordOf, type Subject } from './new-record.ts'
import type { PublishRecords } from './publish-records.ts'
import { createReception } from './receive.ts'
import { createSettle } from './settle.ts'

/** Sources of one `acceptAll` that are worked on at the same time; they share transactions and publishes. */
const TOGETHER = 8

/** The end of one of several sources. */
export type Accepted = { index: number } & ({ result: IntakeResult } | { error: unknown })

export interface Intake {
  /** @throws Problem for everything that leaves no record; it is audited */
  accept(source: Source, meta: Meta): Promise<IntakeResult>
  /**
   * Accepts several sources of one request or job, some at the same time. Ends come as they happen, with the index of
   * the source; a failed source does not stop the others.
   */
  acceptAll(sources: Iterable<Source> | AsyncIterable<Source>, meta: Meta): AsyncGenerator<Accepted, void>
}

export interface IntakeDeps {
  db: Db
  clock: Clock
  bus: Bus
  audit: AuditLog
  pool: Pool
  staging: Staging
  publisher: Publisher
  registry: FormatRegistry
  steps: readonly Step[]
  settings(): Settings
  checkpoint: Checkpoint
  publishRecords: PublishRecords
  onError(error: unknown): void
}

type Progress = (event: StepEvent) => void

export function createIntake(deps: IntakeDeps): Intake {
  const { db, audit, bus, registry, publisher, publishRecords, checkpoint } = deps
  const settle = createSettle(deps)

  async function accept(source: Source, meta: Meta): Promise<IntakeResult> {
    const settings = deps.settings()
    const path = deps.staging.newPath()
    const reception = createReception(registry, path, settings.validation.max_upload_size_mb * 1024 * 1024)
    const progress: Progress = (event) => source.progress?.(event)
    try {
      const arrival = await reception.receive(source).catch(refusal(meta, () => ({ codename: reception.codename() })))
      const { codename } = arrival.offered.distribution
      checkpoint('staged')
      done(progress, 'reception', 'Reception', `${arrival.sizeBytes} bytes`)
      const candidate = await check(arrival, settings, progress).catch(
        refusal(meta, () => ({ codename, staged: arrival })),
      )
      return await admit(arrival, candidate, meta, settings, progress).catch(
        refusal(meta, () => ({ codename, staged: arrival, candidate })),
      )
    } finally {
      removeFile(path)
    }
  }

  /**
   * Audits why a source leaves no record and throws that reason; a failing audit log is reported apart.
   * @param subject what is known of the source at that point
   */
  function refusal(meta: Meta, subject: () => Subject): (error: unknown) => Promise<never> {
    return async (error) => {
      bus.emit('intake', { status: 'error', findings: [] })
      const said = isProblem(error)
        ? { outcome: error.code, detail: error.detail }
        : { outcome: 'internal_error', detail: null }
      await audit.record(eventOf(meta, subject(), { result: 'FAILURE', ...said })).catch(deps.onError)
      throw error
    }
  }

  /** Is it the declared file, and a package for this distribution? */
  async function check(arrival: Arrival, settings: Settings, progress: Progress): Promise<Candidate> {
    checkDigest(arrival, settings)
    done(progress, 'checksum', 'Digest', `SHA-256 ${arrival.digests.sha256}`)
    const candidate = await identify(registry, arrival, arrival.offered)
    const { format, facts } = candidate
    done(progress, 'format', 'Format', `${format.label} ${facts.name} ${facts.version} (${facts.arch})`)
    return candidate
  }

  async function admit(
    arrival: Arrival,
    candidate: Candidate,
    meta: Meta,
    settings: Settings,
    progress: Progress,
  ): Promise<IntakeResult> {
    const subject = { codename: candidate.distribution.codename, staged: arrival, candidate }
    const rejected = await findDuplicate(db, candidate)
    if (rejected) {
      const said = { result: 'FAILURE' as const, outcome: 'rejected', detail: 'these bytes were rejected before' }
      await audit.record(eventOf(meta, subject, said))
      bus.emit('intake', { status: 'rejected', findings: [] })
      return rejectedAnswer(candidate, rejected)
    }
    const { row, gate } = await judgeAndSettle(arrival, candidate, meta, settings, progress)
    await publishRecords([row], progress)
    bus.emit('intake', { status: row.status, findings: gate.findings ?? [] })
    announceRecord(bus, row)
    return answerFor(row, gate)
  }

  /** A publish that begins meanwhile waits a moment for this record. */
  async function judgeAndSettle(
    arrival: Arrival,
    candidate: Candidate,
    meta: Meta,
    settings: Settings,
    progress: Progress,
  ): Promise<{ row: PackageRow; gate: GateResult }> {
    const arrived = publisher.expect(candidate.distribution.codename)
    try {
      const gate = await runGate(deps.steps, candidate, settings, progress)
      checkpoint('verdicts')
      try {
        const record = recordOf(arrival, meta, gate, deps.settings(), deps.clock.now())
        return { gate, row: await settle(gate.candidate, record, progress) }
      } finally {
        removeFile(gate.candidate.path)
      }
    } finally {
      arrived()
    }
  }

  async function* acceptAll(sources: Iterable<Source> | AsyncIterable<Source>, meta: Meta) {
    const running = new Map<number, Promise<Accepted>>()
    const first = async (): Promise<Accepted> => {
      const ended = await Promise.race(running.values())
      running.delete(ended.index)
      return ended
    }
    try {
      let count = 0
      for await (const source of sources) {
        const index = count++
        running.set(
          index,
          accept(source, meta).then(
            (result) => ({ index, result }),
            (error: unknown) => ({ index, error }),
          ),
        )
        if (running.size >= TOGETHER) yield await first()
      }
      while (running.size > 0) yield await first()
    } finally {
      // The caller may stop early, or `sources` may fail: what was begun still ends.
      await Promise.all(running.values())
    }
  }

  return { accept, acceptAll }
}

function checkDigest(arrival: Arrival, settings: Settings): void {
  if (!settings.validation.sha256_check || arrival.declaredSha256 === null) return
  if (arrival.declaredSha256.toLowerCase() === arrival.digests.sha256) return
  throw new Problem('checksum_mismatch', 'the bytes received do not have the declared SHA-256', {
    expected: arrival.declaredSha256,
    actual: arrival.digests.sha256,
  })
}

function done(progress: Progress, name: string, label: string, message: string): void {
  progress({ name, label, status: 'done', message, detail: null })
}
