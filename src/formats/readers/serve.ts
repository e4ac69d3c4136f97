// Inside a reader: answers one request after another, until the service ends the process.
import { Socket } from 'node:net'
import { isProblem } from '../../domain/problem.ts'
import { createFrameReader, encodeFrame } from './frames.ts'
import { CHANNEL, SAYS_OUT_OF_MEMORY, WINDOW, type Message, type Outgoing } from './messages.ts'

/** A handler's access to the request that it answers. */
export interface Job {
  /** Sends a reply; waits until the service has taken earlier replies. */
  send(reply: Outgoing): Promise<void>
  /** Waits until one more batch may be sent. @returns false when nobody wants it */
  mayContinue(): Promise<boolean>
  isStopped(): boolean
  /** The next message of the service to the current job; null when the job was stopped. */
  hear(): Promise<Message | null>
}

/** An exception becomes the answer: a Problem `invalid_package` unchanged, anything else as an error. */
export type Handler = (request: never, job: Job) => Promise<void>
/** By the kind of request. */
export type Handlers = Readonly<Record<string, Handler>>

/** The service is trusted: its requests may be as large as the largest reply. */
const REQUEST_LIMITS = { headBytes: 128 * 1024 ** 2, allBytes: 256 * 1024 ** 2 }

/** @param tables one for each room that has jobs; a kind is in one of them */
export function serveRequests(tables: readonly Handlers[]): void {
  const handlers = new Map(tables.flatMap((table) => Object.entries(table)))
  const channel = new Socket({ fd: CHANNEL, readable: true, writable: true })
  const frames = createFrameReader(REQUEST_LIMITS)
  let credit = WINDOW
  let stopped = false
  let heard: Message | null = null
  let wake = () => {}
  /** the previous request: only one runs at a time */
  let last = Promise.resolve()

  // The service is gone, so the reader ends.
  for (const event of ['end', 'error', 'close']) channel.on(event, () => process.exit())
  channel.on('data', (chunk) => {
    for (const message of frames.push(chunk as Buffer)) take(message as Message)
  })

  function take(request: Message): void {
    if (request.kind === 'more') credit++
    else if (request.kind === 'stop') stopped = true
    else if (request.kind === 'told') heard = request
    else {
      // Set here, because `stop` may arrive with the request.
      credit = WINDOW
      stopped = false
      heard = null
      last = last.then(() => answer(request))
    }
    wake()
  }

  async function send(reply: Outgoing): Promise<void> {
    channel.cork()
    let hasRoom = true
    for (const piece of encodeFrame(reply)) hasRoom = channel.write(piece)
    channel.uncork()
    if (!hasRoom) await new Promise<void>((resolve) => channel.once('drain', resolve))
  }

  const job: Job = {
    send,
    async mayContinue() {
      while (credit === 0 && !stopped) await new Promise<void>((resolve) => (wake = resolve))
      credit--
      return !stopped
    },
    isStopped: () => stopped,
    async hear() {
      while (!heard && !stopped) await new Promise<void>((resolve) => (wake = resolve))
      const message = heard
      heard = null
      return message
    },
  }

  async function answer(request: Message): Promise<void> {
    const handler = handlers.get(request.kind)
    try {
      if (!handler) throw new Error(`readers have no job ${request.kind}`)
      await handler(request as never, job)
    } catch (error) {
      await send(asReply(error))
    }
  }
}

/** Answers one of several requests in a message: a failure becomes a reply, as for a single request. */
export async function answerOne(job: Job, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    await job.send(asReply(error))
  }
}

function asReply(error: unknown): Outgoing {
  if (isProblem(error, 'invalid_package')) return { kind: 'problem', detail: error.detail }
  const isOutOfMemory = error instanceof RangeError && SAYS_OUT_OF_MEMORY.test(error.message)
  if (isOutOfMemory) return { kind: 'problem', detail: 'reading the package needs more memory than is allowed' }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { kind: 'error', message }
}
