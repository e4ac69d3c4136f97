// Keeps one process running: restarts it after a pause when it ends, and replaces it on request.
import { constants } from 'node:os'
import type { Log } from '../../kernel/log.ts'
import { afterEnd, WAITS, type RestartRules, type Row } from './restarts.ts'

/** The exit code of a process that SIGTERM ended. */
const TERMINATED = 128 + constants.signals.SIGTERM

export interface Running {
  /** resolves when it does its work; stays pending when it ends before */
  ready: Promise<void>
  /** the exit code; 128 and the number of the signal after a signal */
  exited: Promise<number>
  kill(signal: NodeJS.Signals): void
}

export interface KeptProcess {
  /**
   * @returns null when the process is ready, or waits for something and is started again; its exit code when it ended before
   * it was ready. It is not started again then.
   */
  start(): Promise<number | null>
  /**
   * Replaces the process by a new one. With `overlap` the old one stops when the new one is ready, and continues if the new
   * one fails; otherwise it stops first.
   */
  replace(options: { overlap: boolean }): Promise<void>
  /** From now on the process is not restarted: a signal to the whole process group may end it before `stop` does. */
  letEnd(): void
  /** Sends SIGTERM. @returns the exit code; 0 when nothing runs, or when the process was too young to handle the signal */
  stop(): Promise<number>
}

export interface KeptProcessDeps {
  /** in log lines */
  name: string
  spawn(): Running
  rules: RestartRules
  log: Log
  /** Called when it failed by itself and will be started again. */
  onRestart(): void
  /** Called with the exit code of the last failure when there will be no further start. */
  onGivenUp(code: number): void
}

export function createKeptProcess({ name, spawn, rules, log, onRestart, onGivenUp }: KeptProcessDeps): KeptProcess {
  let current: Running | null = null
  let pause: NodeJS.Timeout | undefined
  let row: Row = { failures: 0, waits: 0 }
  let stopped = false
  /** To be called again after every wait. */
  const isStopped = () => stopped
  /** replaced processes that still have clients */
  const leaving = new Set<Promise<number>>()

  const adopt = (process: Running): void => {
    clearTimeout(pause)
    current = process
    let readyMs = NaN
    void process.ready.then(() => (readyMs = performance.now()))
    void process.exited.then((code) => {
      if (current !== process) return
      current = null
      if (isStopped()) return
      const { pauseMs, ...next } = afterEnd(rules, row, { code, ranMs: performance.now() - readyMs })
      row = next
      if (pauseMs === null) {
        log.fatal({ process: name, code, failures: row.failures }, 'a process ended too often; it is not started again')
        onGivenUp(code)
        return
      }
      if (code === WAITS) {
        log.warn(
          { process: name, waits: row.waits, pauseMs },
          'a process cannot start yet; it is tried again after a pause',
        )
      } else {
        log.error({ process: name, code, pauseMs }, 'a process ended; it is started again after a pause')
        onRestart()
      }
      pause = setTimeout(() => adopt(spawn()), pauseMs)
    })
  }

  const dismiss = (process: Running | null): Promise<number> => {
    if (!process) return Promise.resolve(0)
    const gone = process.exited.then((code) => (code === TERMINATED ? 0 : code)).finally(() => leaving.delete(gone))
    leaving.add(gone)
    process.kill('SIGTERM')
    return gone
  }

  const begun = async (process: Running): Promise<number | null> =>
    Promise.race([process.ready.then(() => null), process.exited])

  return {
    async start() {
      const process = spawn()
      current = process
      const code = await begun(process)
      if (current !== process) return code
      if (code === null || code === WAITS) {
        adopt(process)
        return null
      }
      current = null
      return code
    },
    async replace({ overlap }) {
      if (isStopped()) return
      if (!overlap) {
        clearTimeout(pause)
        const old = current
        current = null
        await dismiss(old)
        if (!isStopped()) adopt(spawn())
        return
      }
      const next = spawn()
      const code = await begun(next)
      if (code !== null) {
        log.error({ process: name, code }, 'a process could not be replaced; the old one goes on')
        return
      }
      const old = current
      if (isStopped()) void dismiss(next)
      else adopt(next)
      if (old !== next) void dismiss(old)
    },
    letEnd() {
      stopped = true
    },
    async stop() {
      stopped = true
      clearTimeout(pause)
      const last = current
      current = null
      const [code] = await Promise.all([dismiss(last), ...leaving])
      return code
    },
  }
}
