// A few threads that read packages: started when needed, ended when idle, one package on each at a time.
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { invalid } from '../../archive/limits.ts'
import type { Reply, Request } from './messages.ts'

/** A thread in one caller's hands. */
export interface Lease {
  post(request: Request): void
  /**
   * The next reply.
   * @throws Problem('invalid_package') when the thread runs out of memory or time
   * @throws Error when it ends in another way, or answers with an error
   */
  receive(): Promise<Reply>
  /** Whether the thread ended: whatever it has not answered by then, it never will. */
  isDead(): boolean
  /** Gives the thread back; it must have nothing left to answer. */
  release(): void
  /** Ends the thread, whatever it does. */
  destroy(): void
}

export interface ThreadPool {
  /** Waits while all threads are in use. */
  acquire(): Promise<Lease>
  close(): Promise<void>
}

export interface PoolOptions {
  /** starts one thread; the default is `thread.ts` beside this file */
  start?(): Worker
  mostThreads?: number
  /** for one reply */
  replyMs?: number
}

const IDLE_MS = 10_000
/** 250 MB of xz on a busy processor take a minute. */
const REPLY_MS = 300_000
/** The largest accepted packages need 120 MB of heap. */
const HEAP_MB = 256

export function createThreadPool({
  start = startThread,
  replyMs = REPLY_MS,
  ...options
}: PoolOptions = {}): ThreadPool {
  const mostThreads = options.mostThreads ?? Math.min(4, Math.max(2, availableParallelism()))
  const all = new Set<Thread>()
  const idle: Thread[] = []
  const waiting: ((thread: Thread) => void)[] = []
  let closed = false

  function add(): Thread {
    const leaveIdle = () => {
      const at = idle.indexOf(thread)
      if (at !== -1) idle.splice(at, 1)
    }
    const thread = createThread(start(), replyMs, leaveIdle, () => {
      all.delete(thread)
      leaveIdle()
      // Its place is free for somebody who waits.
      const next = closed ? undefined : waiting.shift()
      if (next) next(add())
    })
    all.add(thread)
    return thread
  }

  function giveBack(thread: Thread): void {
    // Its end makes room for somebody who waits.
    if (thread.isDead()) return
    const next = waiting.shift()
    if (next) {
      next(thread)
      return
    }
    idle.push(thread)
    thread.rest()
  }

  return {
    async acquire() {
      if (closed) throw new Error('the threads that read packages are closed')
      const thread =
        idle.pop() ??
        (all.size < mostThreads ? add() : await new Promise<Thread>((resolve) => void waiting.push(resolve)))
      thread.work()
      return {
        post: thread.post,
        receive: thread.receive,
        isDead: thread.isDead,
        release: () => giveBack(thread),
        destroy: thread.destroy,
      }
    },
    async close() {
      closed = true
      await Promise.all([...all].map((thread) => thread.end()))
    },
  }
}

/** One request with one reply. */
export async function once(pool: ThreadPool, ask: (lease: Lease) => void): Promise<Reply> {
  const lease = await pool.acquire()
  try {
    ask(lease)
    return await lease.receive()
  } finally {
    lease.release()
  }
}

/** From TypeScript only where the process can load it, as the tests can. */
function startThread(): Worker {
  const name = import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js'
  return new Worker(new URL(name, import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } })
}

type Thread = ReturnType<typeof createThread>

function createThread(worker: Worker, replyMs: number, onIdle: () => void, onEnd: () => void) {
  const replies: Reply[] = []
  let failure: Error | null = null
  let waiter: { resolve(reply: Reply): void; reject(error: Error): void; timer: NodeJS.Timeout } | null = null
  let idleTimer: NodeJS.Timeout | null = null

  function fail(error: Error): void {
    failure ??= error
    if (!waiter) return
    clearTimeout(waiter.timer)
    waiter.reject(failure)
    waiter = null
  }

  worker.on('message', (reply: Reply) => {
    if (!waiter) {
      replies.push(reply)
      return
    }
    clearTimeout(waiter.timer)
    waiter.resolve(reply)
    waiter = null
  })
  worker.on('error', (error: Error & { code?: string }) => {
    const isOutOfMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    fail(isOutOfMemory ? invalid('reading the package needs more memory than is allowed', error) : error)
  })
  worker.on('exit', () => {
    fail(new Error('a thread that reads packages ended unexpectedly'))
    if (idleTimer) clearTimeout(idleTimer)
    onEnd()
  })

  function destroy(): void {
    failure ??= new Error('the thread was ended')
    void worker.terminate()
  }

  return {
    isDead: () => failure !== null,
    post: (request: Request): void => worker.postMessage(request),
    destroy,
    end: () => worker.terminate(),
    async receive(): Promise<Reply> {
      const reply =
        replies.shift() ??
        (await new Promise<Reply>((resolve, reject) => {
          if (failure !== null) {
            reject(failure)
            return
          }
          const timer = setTimeout(() => {
            fail(invalid(`reading the package takes longer than ${replyMs / 1000} s`))
            destroy()
          }, replyMs)
          waiter = { resolve, reject, timer }
        }))
      if (reply.kind === 'problem') throw invalid(reply.detail)
      if (reply.kind === 'error') throw new Error(reply.message)
      return reply
    },
    /** Keeps the process alive while it is in use, and only then. */
    work(): void {
      if (idleTimer) clearTimeout(idleTimer)
      idleTimer = null
      worker.ref()
    },
    rest(): void {
      worker.unref()
      idleTimer = setTimeout(() => {
        onIdle()
        destroy()
      }, IDLE_MS).unref()
    },
  }
}
