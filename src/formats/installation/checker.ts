// Starts the installability thread and talks to it: one universe, one question after another, then its memory is free.
import { Worker } from 'node:worker_threads'
import { BUDGET, type Budget } from '../../solver/check.ts'
import type { PackageFormat } from '../format.ts'
import type { CheckResult, PlanResult } from '../../domain/installability.ts'
import type { Origin, Reply, Request, Selector, ThreadData } from './messages.ts'

/** 65,000 packages of Debian 12 with their relations take 400 MB while they are read. */
const HEAP_MB = 2048

export interface Checker {
  /** @param packages JSON of `PackageTuple[]`; resolves when the thread has read them */
  add(origin: Origin, packages: string): Promise<void>
  check(mostListed: number): Promise<CheckResult>
  plan(request: { withUpstream: boolean; remove: readonly Selector[]; mostListed: number }): Promise<PlanResult>
}

/**
 * Calls `use` with a universe for clients of one architecture, and ends the thread afterwards.
 * @param signal ends the thread early; its reason is thrown
 */
export async function withChecker<T>(
  { id, neutralArchs }: Pick<PackageFormat, 'id' | 'neutralArchs'>,
  architecture: string,
  use: (checker: Checker) => Promise<T>,
  signal?: AbortSignal,
  budget: Budget = BUDGET,
): Promise<T> {
  signal?.throwIfAborted()
  const data: ThreadData = { format: id, architecture, neutral: neutralArchs, budget }
  const name = import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js'
  const worker = new Worker(new URL(name, import.meta.url), {
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  })
  let waiting: { resolve(reply: Reply): void; reject(error: unknown): void } | null = null
  const fail = (error: unknown) => waiting?.reject(error)
  worker.on('message', (reply: Reply) => {
    if ('failure' in reply) fail(new Error(reply.failure))
    else waiting?.resolve(reply)
  })
  worker.on('error', fail)
  worker.on('exit', () => fail(new Error('the installability thread ended')))
  const abort = () => fail(signal?.reason)
  signal?.addEventListener('abort', abort)

  const ask = <R extends Reply>(request: Request): Promise<R> => {
    signal?.throwIfAborted()
    return new Promise<Reply>((resolve, reject) => {
      waiting = { resolve, reject }
      worker.postMessage(request)
    }) as Promise<R>
  }
  try {
    return await use({
      add: async (origin, packages) => {
        await ask({ kind: 'add', origin, packages })
      },
      check: async (mostListed) => (await ask<{ checked: CheckResult }>({ kind: 'check', mostListed })).checked,
      plan: async (request) => (await ask<{ planned: PlanResult }>({ kind: 'plan', ...request })).planned,
    })
  } finally {
    signal?.removeEventListener('abort', abort)
    await worker.terminate()
  }
}
