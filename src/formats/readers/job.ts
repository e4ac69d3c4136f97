// Jobs of other rooms in readers: the calling side.
import { Problem } from '../../domain/problem.ts'
import { limitTime } from '../../kernel/time-limit.ts'
import type { Message } from './messages.ts'
import type { Lease, ReaderPool } from './pool.ts'
import { isEndedByOthers } from './process.ts'
import { REFUSALS, type JobReply, type JobRequest, type Refusal, type Told } from './session.ts'
import type { SpoolFiles } from './spool-files.ts'

export interface JobOptions<Sent, Done> {
  /** begins the error sentence for a job that exceeds its limits */
  subject?: string
  /** see `ReaderPool.acquire` */
  isLarge?: boolean
  /** time for one reply; by default that of the pool */
  replyMs?: number
  /** files for content that the job reads twice; without them it may not create files */
  files?: SpoolFiles
  /** Both check everything that the caller uses, because hostile bytes may have taken over the reader. */
  isSent?: (value: unknown) => value is Sent
  isDone: (value: unknown) => value is Done
}

/** The reader ended during the job, neither by its time limit nor by its memory limit. */
export class ReaderEnded extends Error {
  override readonly name = 'ReaderEnded'
}

/** `isDone` of a job that returns nothing. */
export const isNothing = (value: unknown): value is undefined => value === undefined

/** How long a cancelled job may take to notice. */
const STOP_MS = 5000

/**
 * Runs a job: yields what it sends, and returns its result. Leaving the loop ends the job. If its reader is ended from outside
 * before it sent anything, the job is started again, once.
 * @throws Problem as the job threw it; Problem('invalid_package') when it exceeds the time or memory of a reader,
 * 'reader_unavailable' when there is no reader, or it is ended from outside
 * @throws ReaderEnded
 */
export async function* runJob<Sent, Done>(
  pool: ReaderPool,
  kind: string,
  argument: unknown,
  options: JobOptions<Sent, Done>,
): AsyncGenerator<Sent, Done, undefined> {
  let isBegun = false as boolean
  try {
    return yield* runOnce(pool, kind, argument, options, () => void (isBegun = true))
  } catch (error) {
    // Values that were sent cannot be taken back.
    if (isBegun || !isEndedByOthers(error)) throw error
  }
  return yield* runOnce(pool, kind, argument, options, () => {})
}

/** @param begin called before the caller receives anything from the job, or its files are written */
async function* runOnce<Sent, Done>(
  pool: ReaderPool,
  kind: string,
  argument: unknown,
  options: JobOptions<Sent, Done>,
  begin: () => void,
): AsyncGenerator<Sent, Done, undefined> {
  const { files, isSent, isDone, subject, isLarge } = options
  const lease = await pool.acquire(subject, isLarge)
  let isOver = true
  try {
    lease.post({ kind, argument } satisfies JobRequest)
    for (;;) {
      const reply = await receive(lease, options)
      if (reply.kind === 'refused') throw problemOf(reply)
      if (reply.kind === 'done' && isDone(reply.value)) return reply.value
      isOver = false
      begin()
      if (reply.kind === 'sent' && isSent?.(reply.value)) yield reply.value
      else if (reply.kind === 'write' && files) await files.append(reply.file, reply.bytes)
      else if (reply.kind === 'whole' && files)
        lease.post({ kind: 'told', path: await files.finish(reply.file) } satisfies Told)
      else if (reply.kind === 'remove' && files) await files.remove(reply.file)
      else {
        lease.destroy()
        throw new ReaderEnded(`a reader answered ${reply.kind} to ${kind}, which was not expected`)
      }
      isOver = true
      if (reply.kind === 'sent' || reply.kind === 'write') lease.post({ kind: 'more' })
    }
  } finally {
    try {
      if (!isOver) await stop(lease)
      await files?.removeAll()
    } finally {
      lease.release()
    }
  }
}

/** Runs a job that only returns a result. */
export async function askJob<Done>(
  pool: ReaderPool,
  kind: string,
  argument: unknown,
  options: Omit<JobOptions<never, Done>, 'isSent'>,
): Promise<Done> {
  const { done, value } = await runJob<never, Done>(pool, kind, argument, options).next()
  if (done !== true) throw new Error(`${kind} sent something before it was done`)
  return value
}

async function receive<Sent, Done>(
  lease: Lease,
  { replyMs, subject = 'reading the package' }: JobOptions<Sent, Done>,
): Promise<JobReply & Message> {
  let isLate = false as boolean
  const late = () => {
    isLate = true
    lease.destroy()
  }
  const endLimit = replyMs === undefined ? () => {} : limitTime(replyMs, late)
  try {
    return await lease.receive(isJobReply)
  } catch (error) {
    if (isLate) throw new Problem('invalid_package', `${subject} takes longer than ${(replyMs ?? 0) / 1000} s`)
    if (lease.isDead() && !(error instanceof Problem))
      throw new ReaderEnded(`${subject} ended the reader`, { cause: error })
    throw error
  } finally {
    endLimit()
  }
}

/** Lets the reader finish its answers, or ends it. */
async function stop(lease: Lease): Promise<void> {
  if (lease.isDead()) return
  lease.post({ kind: 'stop' })
  const endLimit = limitTime(STOP_MS, lease.destroy)
  try {
    for (let reply = await lease.receive(isJobReply); !isLast(reply); reply = await lease.receive(isJobReply));
  } catch {
    // It ended with an error that nobody waits for any more.
  } finally {
    endLimit()
  }
}

const isLast = ({ kind }: JobReply): boolean => kind === 'done' || kind === 'refused' || kind === 'stopped'

const KINDS: readonly string[] = ['sent', 'done', 'stopped']
const FILE_KINDS: readonly string[] = ['write', 'whole', 'remove']

function isJobReply(reply: Message): reply is JobReply & Message {
  const { kind, file, bytes, code, detail, reason } = reply as Message & Record<string, unknown>
  if (KINDS.includes(kind)) return true
  if (FILE_KINDS.includes(kind)) return Number.isSafeInteger(file) && (kind !== 'write' || bytes instanceof Uint8Array)
  const isReason = reason === null || typeof reason === 'string'
  return kind === 'refused' && REFUSALS.includes(code as Refusal) && typeof detail === 'string' && isReason
}

const LONGEST_DETAIL = 2000

function problemOf({ code, detail, reason }: Extract<JobReply, { kind: 'refused' }>): Problem {
  const extra = reason === null ? {} : { reason: reason.slice(0, 100) }
  return new Problem(code, detail.slice(0, LONGEST_DETAIL), extra)
}
