// One reader: a process, its channel, and the error that its end becomes.
import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { Problem } from '../../domain/problem.ts'
import { limitTime } from '../../kernel/time-limit.ts'
import { CHANNEL, isMessage, SAYS_OUT_OF_MEMORY, type Message, type Outgoing } from './messages.ts'
import type { readerCommand } from './command.ts'
import { createFrameReader, encodeFrame } from './frames.ts'

/** The list of 125,000 files with the longest names takes 96 MiB as UTF-8. */
const REPLY_LIMITS = { headBytes: 2 * 1024 ** 2, allBytes: 128 * 1024 ** 2 }
/** With this many replies that nobody has taken, nothing more is read from the channel. */
const MOST_UNREAD = 8
/** of its standard error */
const MOST_TEXT = 16 * 1024
const LONGEST_DETAIL = 2000
const PAGE_BYTES = 4096

export interface ReaderProcess {
  post(request: Outgoing): void
  /** @param isExpected an unexpected reply ends the reader */
  receive<T extends Message = Message>(isExpected?: (reply: Message) => reply is T): Promise<T>
  isDead(): boolean
  /** Ends the reader, whatever it is doing. */
  kill(reason: Error): void
  /** Begins a job. @param subject of the sentences that refuse it: `reading the package` */
  work(subject: string): void
  /** Ends a job. */
  rest(): void
  /** Ends the reader if it uses more memory than this. */
  watch(mostBytes: number): void
  /** of the process and its channel */
  readonly ended: Promise<void>
}

export function startReader(command: ReturnType<typeof readerCommand>, replyMs: number): ReaderProcess {
  const child = spawn(command.file, command.args, command.options)
  // When descriptors have run out, it has no channel, and reports this with `error`.
  const channel = ((child.stdio as ChildProcess['stdio'] | undefined)?.[CHANNEL] as Socket | undefined) ?? new Socket()
  const frames = createFrameReader(REPLY_LIMITS)
  const unread: Message[] = []
  let subject: string | null = null
  let text = ''
  let failure: Error | null = null
  let waiter: { resolve(reply: Message): void; reject(error: Error): void; endLimit(): void } | null = null

  function fail(error: Error): void {
    failure ??= error
    if (!waiter) return
    waiter.endLimit()
    waiter.reject(failure)
    waiter = null
  }
  function kill(reason: Error): void {
    fail(reason)
    killGroup(child)
    channel.destroy()
    // The service must stay alive for those who wait for its end.
    refer(child, channel, 'ref')
  }
  const tooMuch = (what: string) => new Problem('invalid_package', `${subject ?? 'a job'} ${what}`)
  const needsMemory = () => tooMuch('needs more memory than is allowed')

  channel.on('data', (chunk) => {
    try {
      for (const message of frames.push(chunk as Buffer)) take(message)
    } catch (error) {
      kill(new Error('a reader sent what is no message', { cause: error }))
    }
  })
  // The end of the process gives a better reason.
  channel.on('error', () => {})
  child.stderr?.on('error', () => {})
  child.stderr?.on('data', (chunk: Buffer) => {
    if (text.length < MOST_TEXT) text += chunk.toString('latin1')
  })
  child.on('error', (error) => kill(new Error('a reader could not be started', { cause: error })))
  const ended = new Promise<void>((resolve) => {
    child.once('close', (code, signal) => {
      const ended = new Error(`a reader ended unexpectedly (${signal ?? code}): ${excerpt(text)}`)
      if (SAYS_OUT_OF_MEMORY.test(text)) fail(needsMemory())
      else fail(signal !== null && FOREIGN.has(signal) ? endedByOthers(ended) : ended)
      resolve()
    })
    child.once('error', () => resolve())
  })

  function take(message: unknown): void {
    if (!isMessage(message) || subject === null) throw new TypeError('not a message that was waited for')
    if (waiter) {
      waiter.endLimit()
      waiter.resolve(message)
      waiter = null
    } else if (unread.push(message) >= MOST_UNREAD) channel.pause()
  }

  function wait(): Promise<Message> {
    return new Promise((resolve, reject) => {
      if (failure !== null) {
        reject(failure)
        return
      }
      const endLimit = limitTime(replyMs, () => kill(tooMuch(`takes longer than ${replyMs / 1000} s`)))
      waiter = { resolve, reject, endLimit }
    })
  }

  return {
    ended,
    kill,
    isDead: () => failure !== null,
    post(request) {
      if (failure !== null) return
      channel.cork()
      for (const piece of encodeFrame(request)) channel.write(piece)
      channel.uncork()
    },
    async receive<T extends Message>(isExpected?: (reply: Message) => reply is T) {
      const first = unread.shift()
      if (unread.length === 0 && channel.isPaused()) channel.resume()
      const reply = unwrap(first ?? (await wait()))
      if (!isExpected || isExpected(reply)) return reply as T
      kill(new Error(`a reader answered what it was not asked for: ${reply.kind.slice(0, 100)}`))
      throw failure ?? new Error('a reader ended')
    },
    work(next) {
      subject = next
      text = ''
      refer(child, channel, 'ref')
    },
    rest() {
      subject = null
      if (unread.length > 0) kill(new Error('a reader sent more than it was asked for'))
      refer(child, channel, 'unref')
    },
    watch(mostBytes) {
      if (failure === null && residentBytes(child) > mostBytes) kill(needsMemory())
    },
  }
}

function unwrap(reply: Message): Message {
  const { kind, detail, message } = reply as Message & Partial<Record<string, unknown>>
  if (kind === 'problem') throw new Problem('invalid_package', String(detail).slice(0, LONGEST_DETAIL))
  if (kind === 'error') throw new Error(String(message).slice(0, LONGEST_DETAIL))
  return reply
}

/** A working reader keeps the service's process alive; an idle one does not. */
function refer(child: ChildProcess, channel: Socket, way: 'ref' | 'unref'): void {
  child[way]()
  channel[way]()
  ;(child.stderr as Socket | null)?.[way]()
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It ended before.
  }
}

/** Its present memory; 0 if the system has no /proc. */
function residentBytes({ pid }: ChildProcess): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES
  } catch {
    return 0
  }
}

/** Signals from outside: from the kernel when memory runs out, a person or a supervisor. A package causes other signals. */
const FOREIGN = new Set<NodeJS.Signals>(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'])

/** As far as is known, the bytes were not at fault. */
class EndedByOthers extends Error {
  override readonly name = 'EndedByOthers'
}

function endedByOthers(cause: Error): Problem {
  return new Problem(
    'reader_unavailable',
    'the process that read the package was ended from outside, perhaps because the machine is short of memory',
    {},
    { retryAfterSeconds: 60, cause: new EndedByOthers(cause.message, { cause }) },
  )
}

/** Whether the same job may succeed on another reader. */
export function isEndedByOthers(error: unknown): boolean {
  return error instanceof Problem && error.cause instanceof EndedByOthers
}

const excerpt = (text: string): string =>
  text
    .replaceAll(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, 500)
