// One socket to clamd: opening it, sending with back-pressure, cutting what comes back into answers. Knows no verdicts.
import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { Problem } from '../../../domain/problem.ts'
import { asError } from '../../../kernel/errors.ts'

export type ClamavAddress = { path: string } | { host: string; port: number }

/** Time limits, milliseconds. */
export interface ClamavLimits {
  connectMs: number
  /** without a byte moving while something is being sent, or without an answer in a session */
  idleMs: number
  /** from the last byte of a stream to its answer; above clamd's own MaxScanTime (120 s unless configured) */
  answerMs: number
  /** of a whole package */
  overallMs: number
}

/** Seconds after which a caller may try again: a daemon that starts needs up to two minutes to load its signatures. */
const RETRY_AFTER_SECONDS = 30
/** All answers of clamd are far shorter; a peer that sends more is not clamd. */
const LONGEST_ANSWER = 16 * 1024

/** The daemon is down, loading, or hung up without an answer. */
export function unavailable(detail: string, cause?: unknown): Problem {
  return new Problem('scanner_unavailable', detail, {}, { cause, retryAfterSeconds: RETRY_AFTER_SECONDS })
}

/** Why a connection is over: the peer closed or broke it, or nothing moved for the time limit. */
export type End = { timedOut: boolean; cause?: unknown }

export interface Connection {
  /** Waits while the peer reads slowly; returns early, without an error, once the connection is over. */
  send(...parts: Uint8Array[]): Promise<void>
  /** sets how long the connection may be idle before it is given up */
  idleLimit(milliseconds: number): void
  /** nothing more will be sent; answers may still come */
  finish(): void
  close(): void
}

export interface ConnectionEvents {
  onAnswer(answer: string): void
  /** called once, after the last answer; not called for one's own `close` */
  onEnd(end: End): void
}

/**
 * @throws Problem('scanner_unavailable') when the address does not answer
 * @throws the reason of `signal` when it is aborted first; aborted later, the connection ends
 */
export async function openConnection(
  address: ClamavAddress,
  limits: ClamavLimits,
  signal: AbortSignal,
  events: ConnectionEvents,
): Promise<Connection> {
  signal.throwIfAborted()
  const socket = connect(address)
  socket.setNoDelay(true)
  await connected(socket, limits.connectMs, signal)

  let over = false
  const end = (reason: End) => {
    socket.destroy()
    signal.removeEventListener('abort', onAbort)
    if (over) return
    over = true
    events.onEnd(reason)
  }
  const onAbort = () => end({ timedOut: false, cause: signal.reason })
  signal.addEventListener('abort', onAbort, { once: true })
  cutAnswers(socket, events.onAnswer, (cause) => end({ timedOut: false, cause }))
  socket.setTimeout(limits.idleMs, () => end({ timedOut: true }))
  socket.on('error', (cause) => end({ timedOut: false, cause }))
  socket.on('close', () => end({ timedOut: false }))

  return {
    async send(...parts) {
      // Reads an answer that has already arrived before a write to a closed peer fails and discards it:
      // clamd answers "size limit exceeded" and closes while the client is still sending.
      await setImmediate()
      if (over) return
      socket.cork()
      for (const part of parts) socket.write(part)
      socket.uncork()
      if (socket.writableNeedDrain) await drained(socket)
    },
    idleLimit(milliseconds) {
      socket.setTimeout(milliseconds)
    },
    finish() {
      socket.end()
    },
    close() {
      over = true
      end({ timedOut: false })
    },
  }
}

function connected(socket: Socket, limitMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void) => {
      socket.off('connect', onConnect).off('error', onError)
      signal.removeEventListener('abort', onAbort)
      clearTimeout(timer)
      finish()
    }
    const fail = (error: Error) => {
      settle(() => reject(error))
      socket.on('error', () => {})
      socket.destroy()
    }
    const onConnect = () => settle(resolve)
    const onError = (cause: unknown) =>
      fail(unavailable('the antivirus engine cannot be reached; it may still be loading its signatures', cause))
    const onAbort = () => fail(asError(signal.reason))
    const timer = setTimeout(() => onError(new Error(`no connection within ${limitMs} ms`)), limitMs)
    socket.once('connect', onConnect).once('error', onError)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done)
      resolve()
    }
    socket.once('drain', done).once('close', done)
  })
}

/** Answers end in NUL, as the commands do; only clamd's complaint about a silent client ends in a newline. */
function cutAnswers(socket: Socket, onAnswer: (answer: string) => void, onNonsense: (cause: Error) => void): void {
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => {
    const answers = (rest + text).split(/[\0\n]/)
    rest = answers.pop() ?? ''
    for (const answer of answers) if (answer.trim()) onAnswer(answer.trim())
    if (rest.length > LONGEST_ANSWER) onNonsense(new Error('an answer without an end'))
  })
}
