// Starts the installability thread and talks to it: one universe, one question after another; then its memory is freed.
import { Worker } from 'node:worker_threads'
import { Problem } from '../../domain/problem.ts'
import { BUDGET, type Budget } from '../solver/check.ts'
import { reachOf } from '../architectures.ts'
import type { Archs } from '../intake-format.ts'
import type { PackageFormat } from '../format.ts'
import type { CheckResult, PlanResult } from '../../domain/installability.ts'
import type { Origin, Reply, Request, Selector, ThreadData } from './messages.ts'

/** Not a safe boundary: a thread that reaches it may end the process. `LIMITS` keep the thread below it. */
const HEAP_MB = 2048

export interface Limits {
  packages: number
  relations: number
  /** of the JSON of all packages, and of one page, which is parsed at once */
  characters: number
  pageCharacters: number
}

/**
 * 65,000 packages of Debian 12 with their relations have 91 Mi characters and take 400 MB while they are read. Ten million
 * relations to names of their own, on 256 Mi characters, took 2.3 GB.
 */
const LIMITS: Limits = {
  packages: 500_000,
  relations: 4_000_000,
  characters: 256 * 1024 ** 2,
  pageCharacters: 64 * 1024 ** 2,
}

export interface Checker {
  /**
   * @param packages JSON of `PackageTuple[]`; resolves when the thread has read them
   * @throws Problem('validation_error') when there are more packages, or longer ones, than the limits allow
   */
  add(origin: Origin, packages: string): Promise<void>
  check(mostListed: number): Promise<CheckResult>
  plan(request: { withUpstream: boolean; remove: readonly Selector[]; mostListed: number }): Promise<PlanResult>
}

/**
 * Calls `use` with a universe for clients of one architecture, and ends the thread afterwards.
 * @param signal ends the thread early; its reason is thrown
 */
export async function withChecker<T>(
  format: Pick<PackageFormat, 'id'> & Archs,
  architecture: string,
  use: (checker: Checker) => Promise<T>,
  signal?: AbortSignal,
  { budget = BUDGET, limits = LIMITS }: { budget?: Budget; limits?: Limits } = {},
): Promise<T> {
  signal?.throwIfAborted()
  const data: ThreadData = {
    format: format.id,
    reach: reachOf({ arch: architecture }, format, { architectures: [architecture] }),
    budget,
  }
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
  const count = { packages: 0, relations: 0, characters: 0 }
  try {
    return await use({
      add: async (origin, packages) => {
        count.characters += packages.length
        if (packages.length > limits.pageCharacters || count.characters > limits.characters) throw tooLarge()
        const { added, relations } = await ask<{ added: number; relations: number }>({ kind: 'add', origin, packages })
        count.packages += added
        count.relations += relations
        if (count.packages > limits.packages || count.relations > limits.relations) throw tooLarge()
      },
      check: async (mostListed) => (await ask<{ checked: CheckResult }>({ kind: 'check', mostListed })).checked,
      plan: async (request) => (await ask<{ planned: PlanResult }>({ kind: 'plan', ...request })).planned,
    })
  } finally {
    signal?.removeEventListener('abort', abort)
    await worker.terminate()
  }
}

const tooLarge = () =>
  new Problem('validation_error', 'the packages and what they need are too many to search what can be installed')
