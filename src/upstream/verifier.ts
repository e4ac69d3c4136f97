// Verifies OpenPGP signatures on a thread, which is started when needed and ended when idle.
import { Worker } from 'node:worker_threads'
import { refused, type RefusalReason } from '../formats/catalog.ts'
import type { OpenpgpVerifier } from './openpgp.ts'

export interface VerifierRequest {
  id: number
  keys: readonly string[]
  /** milliseconds since 1970 */
  now: number
  document: Uint8Array
  /** null: the document is clear-signed */
  signature: Uint8Array | null
  name: string
}

export type VerifierReply =
  | { id: number; text: string; signedBy: string[] }
  | { id: number; refusal: { reason: string; detail: string } }
  | { id: number; failure: string }

export interface Verifier {
  /** @param keys armored public keys, one or several in each text */
  withKeys(keys: readonly string[], now: Date): OpenpgpVerifier
}

/** Milliseconds; the largest accepted description takes 100. */
const USUAL = { idleMs: 10_000, replyMs: 60_000 }
const HEAP_MB = 128

interface Waiting {
  resolve(found: { text: string; signedBy: string[] }): void
  reject(error: Error): void
}

export function createVerifier(limits = USUAL): Verifier {
  let current: Thread | null = null
  let last = 0

  function ask(request: Omit<VerifierRequest, 'id'>): Promise<{ text: string; signedBy: string[] }> {
    current ??= startThread(limits, (ended) => {
      if (current === ended) current = null
    })
    return current.ask({ ...request, id: ++last })
  }

  return {
    withKeys: (keys, date) => {
      const now = date.getTime()
      return {
        cleartext: (document, name) => ask({ keys, now, document, signature: null, name }),
        detached: async (document, signature, name) => (await ask({ keys, now, document, signature, name })).signedBy,
      }
    },
  }
}

interface Thread {
  ask(request: VerifierRequest): Promise<{ text: string; signedBy: string[] }>
}

/** @param onEnd called before the thread ends: it takes no more requests then */
function startThread({ idleMs, replyMs }: typeof USUAL, onEnd: (thread: Thread) => void): Thread {
  const waiting = new Map<number, Waiting>()
  const name = import.meta.url.endsWith('.ts') ? './verifier-thread.ts' : './verifier-thread.js'
  const worker = new Worker(new URL(name, import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } })
  let timer: NodeJS.Timeout | undefined

  /** Ends the thread after a while: idle for long, or busy for too long. */
  function endAfter(ms: number): void {
    clearTimeout(timer)
    timer = setTimeout(() => {
      onEnd(thread)
      void worker.terminate()
    }, ms).unref()
  }

  worker.on('message', (reply: VerifierReply) => {
    const one = waiting.get(reply.id)
    waiting.delete(reply.id)
    if ('refusal' in reply) one?.reject(refused(reply.refusal.reason as RefusalReason, reply.refusal.detail))
    else if ('failure' in reply) one?.reject(new Error(reply.failure))
    else one?.resolve({ text: reply.text, signedBy: reply.signedBy })
    if (waiting.size > 0) return
    worker.unref()
    endAfter(idleMs)
  })
  // `exit` follows.
  worker.on('error', () => {})
  worker.on('exit', () => {
    clearTimeout(timer)
    onEnd(thread)
    const error = refused('signature', 'the signature could not be verified within the limits of time and memory')
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  })

  const thread: Thread = {
    ask: (request) =>
      new Promise((resolve, reject) => {
        waiting.set(request.id, { resolve, reject })
        worker.ref()
        endAfter(replyMs)
        worker.postMessage(request)
      }),
  }
  return thread
}
