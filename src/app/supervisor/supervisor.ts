// Keeps the processes of a service running: those that serve repositories, and the one of the API.
import type { Log } from '../../kernel/log.ts'
import { createKeptProcess, type Running } from './kept-process.ts'
import type { RestartRules } from './restarts.ts'

export interface Supervisor {
  /**
   * @returns null when all processes are ready, though the API may wait for its database; if one ended before it was ready,
   * the exit code of the first one, after all have stopped
   */
  start(): Promise<number | null>
  /** Replaces every process: the listeners one after the other, without a gap, then the API. */
  restart(): Promise<void>
  /** Stops the API, then the listeners, which serve until the end. @returns the exit code of the API */
  stop(): Promise<number>
}

/** How often processes of each role ended by themselves and were started again. */
export type Restarts = Readonly<Record<'api' | 'listener', number>>

/** Whether this is the message that the parent sends to the API after each restart. */
export function isRestarts(message: unknown): message is { restarts: Restarts } {
  return typeof message === 'object' && message !== null && 'restarts' in message
}

export interface SupervisorDeps {
  /** how many processes serve repositories */
  listeners: number
  /** @param number from 1; a process that takes the place of another has the same */
  spawnListener(number: number): Running
  /** null where only repositories are served */
  spawnApi: (() => Running) | null
  log: Log
  /** Called when a process ended by itself and will be started again; a listener with its number. */
  onRestart(role: keyof Restarts, number: number): void
  /** Called when the API ended too often, with its exit code. */
  onGivenUp(code: number): void
}

const LISTENER_RULES: RestartRules = { firstPauseMs: 100, longestPauseMs: 5_000, giveUpAt: null }
/** Some 30 s of pauses in total, for failures other than an unavailable database, which is waited for without end. */
const API_RULES: RestartRules = { firstPauseMs: 1_000, longestPauseMs: 16_000, giveUpAt: 6 }

export function createSupervisor(deps: SupervisorDeps): Supervisor {
  const { spawnListener, spawnApi, log, onRestart, onGivenUp } = deps
  const kept = (role: keyof Restarts, number: number, spawn: () => Running, rules: RestartRules) => {
    const name = number === 0 ? role : `${role} ${number}`
    return createKeptProcess({ name, spawn, rules, log, onRestart: () => onRestart(role, number), onGivenUp })
  }
  const serving = Array.from({ length: deps.listeners }, (_, n) =>
    kept('listener', n + 1, () => spawnListener(n + 1), LISTENER_RULES),
  )
  const api = spawnApi ? kept('api', 0, spawnApi, API_RULES) : null

  const stop = async (): Promise<number> => {
    for (const listener of serving) listener.letEnd()
    const code = (await api?.stop()) ?? 0
    await Promise.all(serving.map((listener) => listener.stop()))
    return code
  }

  return {
    async start() {
      // Starts the first one alone, so that only one process reports an unavailable port.
      const [first, ...others] = serving
      let failed = (await first?.start()) ?? null
      if (failed === null) {
        const codes = await Promise.all([...others, ...(api ? [api] : [])].map((process) => process.start()))
        failed = codes.find((code) => code !== null) ?? null
      }
      if (failed !== null) await stop()
      return failed
    },
    async restart() {
      for (const listener of serving) await listener.replace({ overlap: true })
      await api?.replace({ overlap: false })
    },
    stop,
  }
}
