// Inside a reader: jobs of other rooms, which return a result and may send parts of it earlier.
import { isProblem } from '../../domain/problem.ts'
import type { Message } from './messages.ts'
import type { Handler, Job } from './serve.ts'

/** A file that the service writes for a job, and the job reads. */
export interface RemoteFile {
  readonly number: number
  append(piece: Uint8Array): Promise<void>
  /** Ends the writing. @returns the path of the file */
  finish(): Promise<string>
  /** The service removes the file, after the caller has processed everything that was sent before. */
  remove(): Promise<void>
}

export interface JobSession {
  /** Sends a part of the result; waits while the service has enough to process. @throws when nobody wants more */
  send(value: unknown): Promise<void>
  createFile(): RemoteFile
}

/** @returns the caller's result; may throw a Problem that refuses the bytes, with a code of `REFUSALS` */
export type Work<Argument> = (argument: Argument, session: JobSession) => Promise<unknown>

export interface JobRequest extends Message {
  argument: unknown
}

export type JobReply =
  /** each uses up a credit */
  | { kind: 'sent'; value: unknown }
  | { kind: 'write'; file: number; bytes: Uint8Array }
  /** no more is written; answered with `told` */
  | { kind: 'whole'; file: number }
  | { kind: 'remove'; file: number }
  /** the end of the job */
  | { kind: 'done'; value: unknown }
  | { kind: 'refused'; code: Refusal; detail: string; reason: string | null }
  | { kind: 'stopped' }

/** Codes for faults of the bytes; any other Problem is an error of the job. */
export const REFUSALS = ['invalid_package', 'upstream_error'] as const
export type Refusal = (typeof REFUSALS)[number]

/** Answers `whole`. */
export interface Told extends Message {
  kind: 'told'
  path: string
}

/** @param load is called for the first job of this kind: a reader of packages, for example, needs no OpenPGP */
export function handlerOf<Argument>(load: () => Promise<Work<Argument>>): Handler {
  return async ({ argument }: JobRequest, job) => {
    const reply = (message: JobReply) => job.send(message)
    try {
      const work = await load()
      await reply({ kind: 'done', value: await work(argument as Argument, createSession(job)) })
    } catch (error) {
      if (job.isStopped()) await reply({ kind: 'stopped' })
      else await reply(refusalOf(error))
    }
  }
}

/** @throws the error itself if it is not a refusal */
function refusalOf(error: unknown): JobReply {
  const code = isProblem(error) ? REFUSALS.find((one) => one === error.code) : undefined
  if (!isProblem(error) || !code) throw error
  const { reason } = error.extra
  return { kind: 'refused', code, detail: error.detail, reason: typeof reason === 'string' ? reason : null }
}

const PIECE_BYTES = 256 * 1024

function createSession(job: Job): JobSession {
  let files = 0

  async function send(message: JobReply): Promise<void> {
    if (!(await job.mayContinue())) throw stopped()
    await job.send(message)
  }

  return {
    send: (value) => send({ kind: 'sent', value }),
    createFile() {
      const number = files++
      let pieces: Uint8Array[] = []
      let size = 0
      async function write(): Promise<void> {
        const bytes = Buffer.concat(pieces)
        pieces = []
        size = 0
        await send({ kind: 'write', file: number, bytes })
      }
      return {
        number,
        async append(piece) {
          // A decoder may reuse the memory of a piece for the next one.
          pieces.push(Buffer.from(piece))
          size += piece.length
          if (size >= PIECE_BYTES) await write()
        },
        async finish() {
          if (size > 0) await write()
          await job.send({ kind: 'whole', file: number })
          const told = (await job.hear()) as Told | null
          if (!told) throw stopped()
          return told.path
        },
        async remove() {
          if (!job.isStopped()) await job.send({ kind: 'remove', file: number })
        },
      }
    },
  }
}

const stopped = () => new Error('nobody wants the rest')
