// Reading from many connections of an HTTP server so that none blocks the others.
import type { Socket } from 'node:net'
import { runUncaught, type Work } from './work.ts'

/**
 * Bytes that are parsed at once. Node passes on every request of a read before anything else runs: 2,300
 * from one read of 64 KiB take 100 ms. 4 KiB contain 150 at most.
 */
const PARSED_AT_ONCE = 4_096
/** A connection that sends this much at once, in bytes, waits for its next turn; libuv reads at most 64 KiB at once. */
const LARGE_READ = 16_384

export interface ReadConnection {
  /** the work of the current request */
  work: Work | null
  /** true once the rest of what the client sends is dropped */
  overrun: boolean
}

export interface Turns {
  /** Calls back in one of the next turns of the event loop, in order. */
  wait(resume: () => void): void
}

export function createTurns(mostInATurn: number): Turns {
  const waiting: (() => void)[] = []
  const next = () => {
    for (const resume of waiting.splice(0, mostInATurn)) resume()
    if (waiting.length > 0) setImmediate(next)
  }
  return {
    wait(resume) {
      if (waiting.push(resume) === 1) setImmediate(next)
    },
  }
}

/**
 * Parses requests in small pieces, and makes connections with much to read take turns. By itself, libuv reads up to
 * 2 MiB of each connection before the next one: 300 clients that sent 900 KB each blocked the process for 1.1 s.
 * @param mostRequests reads with more are parsed in pieces
 */
export function readInTurns(socket: Socket, connection: ReadConnection, turns: Turns, mostRequests: number): void {
  const [parse] = socket.listeners('data') as ((piece: Buffer) => void)[]
  if (!parse) return
  socket.off('data', parse)
  // The connection emits the events of a body, and it belongs to no request.
  const parseAsWork = (piece: Buffer) => {
    if (connection.work) runUncaught(connection.work, () => parse(piece))
    else parse(piece)
  }
  socket.on('data', (read: Buffer) => {
    const atOnce = hasManyRequests(read, mostRequests) ? PARSED_AT_ONCE : read.length
    for (let at = 0; at < read.length && !connection.overrun && !socket.destroyed; at += atOnce)
      parseAsWork(read.subarray(at, at + atOnce))
    // Paused by Node: the reader of the body accepts no more for now, and will resume.
    if (read.length < LARGE_READ || socket.isPaused() || socket.destroyed) return
    socket.pause()
    turns.wait(() => socket.resume())
  })
}

/** Counts the empty lines that end headers (RFC 9112, section 2.1). A body without them is parsed at once. */
function hasManyRequests(read: Buffer, many: number): boolean {
  if (read.length <= PARSED_AT_ONCE) return false
  let at = 0
  for (let ends = 0; ends < many; ends++) {
    at = read.indexOf('\r\n\r\n', at, 'latin1') + 1
    if (at === 0) return false
  }
  return true
}
