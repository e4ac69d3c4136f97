// Accepts many packages of one request or task: a bounded number at the same time, with shared publishes.
import type { GateResult } from '../gate/gate.ts'
import { createGathering } from '../kernel/gathering.ts'
import { createSemaphore } from '../kernel/semaphore.ts'
import type { PackageRow } from '../store/tables.ts'
import type { IntakeResult, Meta, Source } from '../packages/arrival.ts'
import type { AuditSubject } from '../packages/new-record.ts'

/** Files that are received and scanned at the same time: while one group is judged, others are received and read. */
const IN_GATE = 128
/**
 * A larger file counts as several. Files in the gate total at most 512 MiB, or are one larger file. This bounds the space in
 * staging, and how long the upload of a person waits for scans.
 */
const BYTES_OF_ONE = 4 * 1024 * 1024
/** Packages in the gate, or waiting for it or for the transaction of their record. */
const MOST_ENTERING = 192
/** Packages that are read, and then judged, as one group: they share messages to the readers, and queries. */
const GROUP = 48
/** How long the first package of a group waits for the others, in milliseconds. */
const GROUP_MS = 100
/** Records of one publish. */
const PUBLISHED_TOGETHER = 500
/** How long a record waits for others before it is published, in milliseconds. */
const GATHER_MS = 1000

/** A record that is in the database and not published yet. */
export interface Entered {
  row: PackageRow
  gate: GateResult
  subject: AuditSubject
}

/** The end of one of several sources. */
export type Accepted = { index: number } & ({ result: IntakeResult } | { error: unknown })

type Sources = Iterable<Source> | AsyncIterable<Source>

export type AcceptAll = (sources: Sources, meta: Meta) => AsyncGenerator<Accepted, void, undefined>

/** Batching hooks for one package of a bulk request. */
export interface Company {
  /** runs the part that receives, reads and scans the file, of this size where it is known */
  inGate<T>(work: () => Promise<T>, sizeBytes?: number): Promise<T>
  /** wait for other packages at the same step */
  together: { read(): Promise<void>; judge(): Promise<void> }
}

/** A package that waits for no other one. */
export const ALONE: Company = {
  inGate: (work) => work(),
  together: { read: () => Promise.resolve(), judge: () => Promise.resolve() },
}

export interface AcceptAllDeps {
  /** Everything before the publication, or the answer for a source that leaves no record. Its errors are audited. */
  enter(source: Source, meta: Meta, company: Company): Promise<Entered | { answer: IntakeResult }>
  /** Publishes records in one publish. When it throws, none of them remains. */
  publish(entered: readonly Entered[]): Promise<void>
  /** Audits a record that could not be published, and throws the reason. */
  refuse(entered: Entered, meta: Meta, reason: unknown): Promise<never>
  conclude(entered: Entered): IntakeResult
}

/**
 * Takes no further source until the caller asks for the next result. When the caller stops early or `sources` throws,
 * packages that were begun are published first.
 */
export function createAcceptAll(deps: AcceptAllDeps): AcceptAll {
  return async function* acceptAll(sources, meta) {
    const run = createRun(deps, sources, meta)
    try {
      for (;;) {
        const change = run.changed()
        run.advance()
        const end = run.nextEnd()
        if (end) yield end
        else if (run.isOver()) break
        else await change
      }
    } finally {
      await run.finish()
    }
    run.throwFailure()
  }
}

function createRun(deps: AcceptAllDeps, sources: Sources, meta: Meta) {
  const iterator = Symbol.asyncIterator in sources ? sources[Symbol.asyncIterator]() : sources[Symbol.iterator]()
  const inTurn = createSemaphore(IN_GATE)
  const company: Company = {
    inGate: (work, sizeBytes = 0) => inTurn(work, Math.max(1, Math.ceil(sizeBytes / BYTES_OF_ONE))),
    together: { read: createGathering(GROUP, GROUP_MS), judge: createGathering(GROUP, GROUP_MS) },
  }
  const ends: Accepted[] = []
  const settled: { index: number; entered: Entered }[] = []
  let taken = 0
  let entering = 0
  let isTaking = false
  let isExhausted = false
  let isPublishing = false
  let isDue = false
  let timer: NodeJS.Timeout | null = null
  let failure: { error: unknown } | null = null
  let notify = () => {}
  let change = next()

  function next(): Promise<void> {
    return new Promise((resolve) => {
      notify = () => {
        change = next()
        resolve()
      }
    })
  }

  async function take(): Promise<void> {
    isTaking = true
    try {
      const next = await iterator.next()
      if (next.done) isExhausted = true
      else if (!isExhausted) void enter(next.value, taken++)
    } catch (error) {
      failure = { error }
      isExhausted = true
    }
    isTaking = false
    notify()
  }

  async function enter(source: Source, index: number): Promise<void> {
    entering++
    try {
      const entered = await deps.enter(source, meta, company)
      if ('answer' in entered) ends.push({ index, result: entered.answer })
      else settled.push({ index, entered })
    } catch (error) {
      ends.push({ index, error })
    }
    entering--
    notify()
  }

  async function publish(): Promise<void> {
    isPublishing = true
    isDue = false
    if (timer) clearTimeout(timer)
    timer = null
    const batch = settled.splice(0, PUBLISHED_TOGETHER)
    try {
      await deps.publish(batch.map(({ entered }) => entered))
      for (const { index, entered } of batch) ends.push({ index, result: deps.conclude(entered) })
    } catch (reason) {
      for (const { index, entered } of batch)
        ends.push({ index, error: await deps.refuse(entered, meta, reason).catch((error: unknown) => error) })
    }
    isPublishing = false
    notify()
  }

  const isLast = () => isExhausted && !isTaking && entering === 0
  const isOver = () => isLast() && settled.length === 0 && !isPublishing && ends.length === 0

  /** Starts all work that can start now. */
  function advance(): void {
    const hasRoom = entering < MOST_ENTERING && settled.length < PUBLISHED_TOGETHER
    if (hasRoom && !isExhausted && !isTaking) void take()
    if (settled.length === 0 || isPublishing) return
    if (isDue || settled.length >= PUBLISHED_TOGETHER || isLast()) void publish()
    else
      timer ??= setTimeout(() => {
        isDue = true
        notify()
      }, GATHER_MS)
  }

  return {
    changed: () => change,
    advance,
    nextEnd: () => ends.shift(),
    isOver,
    throwFailure() {
      if (failure) throw failure.error
    },
    /** Takes nothing more, and returns when everything that was taken has ended. */
    async finish(): Promise<void> {
      if (!isExhausted) {
        isExhausted = true
        await Promise.resolve(iterator.return?.()).catch(() => {})
      }
      for (;;) {
        const changed = change
        advance()
        ends.length = 0
        if (isOver()) return
        await changed
      }
    },
  }
}
