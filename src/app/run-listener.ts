// A process that only serves repositories: one of several children of a parent, or the only one.
import type { ListenerEnv } from '../config/env.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { Uncaught } from '../kernel/uncaught.ts'
import { closed } from './closed.ts'
import { createOwnReport } from '../serve/own-report.ts'
import type { PairAnswer } from '../serve/pair-turns.ts'
import { stopRequested } from './stop-requested.ts'
import { answerQuestion, createAsker } from './supervisor/questions.ts'
import { createRepositoryListeners } from './wiring/repository-listeners.ts'

/** How long a stopping process waits for running transfers. */
const DRAIN_MS = 30_000

export interface RunListener {
  env: ListenerEnv
  clock: Clock
  log: Log
  uncaught: Uncaught
  /** true: the parent knows what the clients of all its processes read */
  isChild: boolean
  /** called when it is ready and has no parent */
  ready(): void
}

/** Runs until it is told to stop. @returns the exit code @throws when it cannot start */
export async function runListener({ env, clock, log, uncaught, isChild, ready }: RunListener): Promise<number> {
  const stopping = stopRequested({ isChild, fatal: uncaught.fatal })
  const parent = createAsker((message) => process.send?.(message))
  const report = createOwnReport()
  process.on('message', (message) => {
    parent.receive(message)
    answerQuestion(message, report.read, (answer) => process.send?.(answer)).catch((error: unknown) =>
      log.error({ err: error }, 'the parent got no report'),
    )
  })
  const listeners = await createRepositoryListeners({
    ...{ env, clock, log, report },
    pairTurns: isChild ? (question) => parent.ask(question) as Promise<PairAnswer> : undefined,
  })
  const ports = await listeners.listen()
  if (isChild) {
    process.send?.({ ready: true })
  } else {
    log.info({ ports, host: env.bindHost }, 'listening')
    log.info('ready')
    ready()
  }
  const signal = await stopping
  if (!isChild) log.info({ signal }, 'stopping')
  return closed(() => listeners.close(DRAIN_MS), log)
}
