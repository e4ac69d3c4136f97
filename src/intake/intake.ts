// The only way in: receive, identify, gate, settle, publish.
import { isProblem, Problem } from '../domain/problem.ts'
import type { Settings } from '../domain/settings.ts'
import { runGate } from '../gate/gate.ts'
import type { Candidate, Step, StepEvent } from '../gate/step.ts'
import type { Bus } from '../kernel/bus.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import type { Clock } from '../kernel/clock.ts'
import { removeFile } from '../kernel/files.ts'
import { trace } from '../kernel/trace.ts'
import type { Publisher } from '../publish/publisher.ts'
import { announceRecord } from '../packages/records/announce.ts'
import type { AuditLog } from '../audit/log.ts'
import type { Db } from '../store/db.ts'
import type { Pool } from '../store/files/pool.ts'
import type { Staging } from '../store/files/staging.ts'
import type { PackageRow } from '../store/tables.ts'
import { ALONE, createAcceptAll, type AcceptAll, type Company, type Entered } from './accept-all.ts'
import { answerFor, rejectedAnswer } from './answers.ts'
import type { Arrival, IntakeResult, Meta, Source } from '../packages/arrival.ts'
import { createFactsRoom, withoutLists } from './facts-room.ts'
import { createFindDuplicate, identify, type FormatRegistry } from '../packages/identify.ts'
import { eventOf, recordOf, type AuditSubject } from '../packages/new-record.ts'
import { requireListed, requireSigned } from '../packages/fit.ts'
import { createRequireUnreserved } from '../packages/reserved-names.ts'
import type { PublishRecords } from '../packages/publish-records.ts'
import { createReception } from './receive.ts'
import { createSettle } from './settle.ts'
import { requireWithin } from '../packages/within-scopes.ts'

export interface Intake {
  /** @throws Problem for everything that leaves no record; it is audited */
  accept(source: Source, meta: Meta): Promise<IntakeResult>
  /**
   * Accepts several sources of one request or job. They share transactions and publishes. Results come as
   * they happen, with the index of the source, each after its package was published; a failed source does not stop the others.
   */
  acceptAll: AcceptAll
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
  const findDuplicate = createFindDuplicate(db)
  const requireUnreserved = createRequireUnreserved(db)
  const settle = createSettle({ ...deps, findDuplicate })
  const room = createFactsRoom()

  async function accept(source: Source, meta: Meta): Promise<IntakeResult> {
    const progress: Progress = (event) => source.progress?.(event)
    // A publish that begins meanwhile waits a moment for this record.
    const entered = await enter(source, meta, ALONE, publisher.expect)
    if ('answer' in entered) return entered.answer
    await trace('intake publish', { 'gatehouse.status': entered.row.status }, () =>
      publishRecords([entered.row], progress),
    ).catch(refusal(meta, () => entered.subject))
    return concluded(entered)
  }

  /**
   * Everything before the publication.
   * @param expect announces a record that is about to be published
   */
  async function enter(
    source: Source,
    meta: Meta,
    { inGate, together }: Company,
    expect: Publisher['expect'],
  ): Promise<Entered | { answer: IntakeResult }> {
    const settings = deps.settings()
    const { listing } = source
    const path = deps.staging.newPath()
    const reception = createReception(registry, path, settings.validation.max_upload_size_mb * 1024 * 1024)
    const progress: Progress = (event) => source.progress?.(event)
    let subject: AuditSubject = { codename: null, listing }
    let arrived = () => {}
    let leave = () => {}
    try {
      const { gate, arrival } = await inGate(async () => {
        const arrival = await trace('intake receive', {}, () => reception.receive(source))
        subject = { codename: arrival.offered.distribution.codename, staged: arrival, listing }
        checkpoint('staged')
        done(progress, 'reception', 'Reception', `${arrival.sizeBytes} bytes`)
        await together.read()
        checkDigest(arrival, settings, progress)
        const read = await trace('intake identify', {}, () =>
          room.read(() => identify(registry, arrival, arrival.offered)),
        )
        leave = read.leave
        const { candidate } = read
        sayFormat(candidate, progress)
        subject = { ...subject, candidate }
        await together.judge()
        const scopes = arrival.scopes ?? meta.scopes
        if (scopes) requireWithin(scopes, candidate, candidate.facts)
        await arrival.compare?.(candidate)
        await requireUnreserved(candidate.format, candidate.facts, listing?.sourceId ?? null)
        if (listing) requireListed(candidate.facts, candidate.format, listing)
        if (listing?.signers) await requireSigned(candidate, listing.signers)
        const rejected = await findDuplicate(candidate)
        if (rejected) return { arrival, gate: await refuseAgain(candidate, rejected, meta, subject) }
        arrived = expect(candidate.distribution.codename)
        const steps = [...deps.steps, ...(source.steps ?? [])]
        const gate = await runGate(steps, candidate, settings, deps.clock.now(), progress)
        checkpoint('verdicts')
        return { arrival, gate }
      }, source.sizeBytes)
      if ('answer' in gate) return gate
      try {
        const record = recordOf(arrival, meta, listing, gate, deps.clock.now())
        const row = await trace('intake settle', {}, () => settle(gate.candidate, record, progress))
        const candidate = withoutLists(gate.candidate)
        return { gate: { ...gate, candidate }, subject: { ...subject, candidate }, row }
      } finally {
        await removeFile(gate.candidate.path)
      }
    } catch (error) {
      return await refusal(meta, () => ({ ...subject, codename: subject.codename ?? reception.codename() }))(error)
    } finally {
      leave()
      arrived()
      await removeFile(path)
    }
  }

  /** Announces a record after its publication, and returns the answer for clients. */
  function concluded({ row, gate }: Entered): IntakeResult {
    bus.emit('intake', { status: row.status, findings: gate.findings ?? [] })
    announceRecord(bus, row)
    return answerFor(row, gate)
  }

  /**
   * Audits why a source leaves no record and throws that reason; a failure of the audit log is reported separately.
   * @param subject what is known of the source at that point
   */
  function refusal(meta: Meta, subject: () => AuditSubject): (error: unknown) => Promise<never> {
    return async (error) => {
      bus.emit('intake', { status: 'error', findings: [] })
      const said = isProblem(error)
        ? { outcome: error.code, detail: error.detail }
        : { outcome: 'internal_error', detail: null }
      await audit.record(eventOf(meta, subject(), { result: 'FAILURE', ...said })).catch(deps.onError)
      throw error
    }
  }

  /** The same bytes were rejected before: nothing is scanned or stored. */
  async function refuseAgain(candidate: Candidate, rejected: PackageRow, meta: Meta, subject: AuditSubject) {
    const event = { result: 'FAILURE' as const, outcome: 'rejected', detail: 'these bytes were rejected before' }
    await audit.record(eventOf(meta, subject, event))
    bus.emit('intake', { status: 'rejected', findings: [] })
    return { answer: rejectedAnswer(candidate, rejected) }
  }

  const acceptAll = createAcceptAll({
    // Nobody waits for packages that share a publish with many others.
    enter: (source, meta, company) => enter(source, meta, company, () => () => {}),
    publish: (entered) =>
      publishRecords(
        entered.map(({ row }) => row),
        () => {},
      ),
    refuse: (entered, meta, error) => refusal(meta, () => entered.subject)(error),
    conclude: concluded,
  })

  return { accept, acceptAll }
}

/** Is it the declared file? */
function checkDigest({ declaredSha256, digests }: Arrival, settings: Settings, progress: Progress): void {
  const isOther = declaredSha256 !== null && declaredSha256.toLowerCase() !== digests.sha256
  if (isOther && settings.validation.sha256_check)
    throw new Problem('checksum_mismatch', 'the bytes received do not have the declared SHA-256', {
      expected: declaredSha256,
      actual: digests.sha256,
    })
  done(progress, 'checksum', 'Digest', `SHA-256 ${digests.sha256}`)
}

function sayFormat({ format, facts }: Candidate, progress: Progress): void {
  done(progress, 'format', 'Format', `${format.label} ${facts.name} ${facts.version} (${facts.arch})`)
}

function done(progress: Progress, name: string, label: string, message: string): void {
  progress({ name, label, status: 'done', message, detail: null })
}
