// The parent of a service of several processes. It distributes connections and keeps its children running; nothing else.
import { fork, type ChildProcess } from 'node:child_process'
import cluster from 'node:cluster'
import { createServer } from 'node:net'
import { constants } from 'node:os'
import { closed } from './closed.ts'
import { listenerSource, type Source } from '../config/env.ts'
import type { ListenerEnv } from '../config/env.ts'
import { systemClock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { Uncaught } from '../kernel/uncaught.ts'
import { createPairTurns, type PairQuestion } from '../serve/pair-turns.ts'
import { stopRequested } from './stop-requested.ts'
import type { Running } from './supervisor/kept-process.ts'
import { createListenerReports, REPORT } from './supervisor/listener-reports.ts'
import { answerQuestion, createAsker } from './supervisor/questions.ts'
import { createSupervisor, type Restarts } from './supervisor/supervisor.ts'
import { openPort } from './wiring/ports.ts'

export interface RunParent {
  env: ListenerEnv
  log: Log
  uncaught: Uncaught
  /** the environment that the API process inherits; listeners get only the variables they need */
  source: Source
  /** the program of all children */
  main: string
  /** false to serve repositories only */
  withApi: boolean
  /** called when all processes are ready; the API may still wait for its database */
  ready(): void
}

/**
 * Runs until it is told to stop, or until the API has ended too often. Starts that fail because of the database do not count.
 * SIGHUP replaces every child.
 * @returns the exit code; that of the API if it was the reason
 */
export async function runParent({ env, log, uncaught, source, main, withApi, ready }: RunParent): Promise<number> {
  const stopping = stopRequested({ isChild: false, isParent: true, fatal: uncaught.fatal })
  const ports = await choosePorts(env, log)
  const pairTurns = createPairTurns(systemClock)
  cluster.setupPrimary({ exec: main, args: ['listener'] })
  cluster.schedulingPolicy = cluster.SCHED_RR

  let giveUp!: (code: number) => void
  const givenUp = new Promise<number>((resolve) => (giveUp = resolve))
  let api: ChildProcess | null = null
  let restarts: Restarts = { api: 0, listener: 0 }
  const reports = createListenerReports(env.serveProcesses)
  const supervisor = createSupervisor({
    listeners: env.serveProcesses,
    spawnListener(number) {
      const worker = cluster.fork(forListener(source, ports)).process
      const listener = createAsker((message) => send(worker, message))
      worker.on('message', listener.receive)
      answerTo(worker, log, (question) => pairTurns(question as PairQuestion))
      // node:cluster gives connections to a worker until the channel is closed, which happens some time after its exit.
      worker.once('exit', () => {
        if (worker.connected) worker.disconnect()
      })
      const child = running(worker)
      reports.follow(number, child, () => listener.ask(REPORT))
      return child
    },
    spawnApi: withApi
      ? () => {
          api = fork(main, ['api', String(ports.apt), String(ports.rpm)], { env: source })
          send(api, { restarts })
          answerTo(api, log, reports.all)
          return running(api)
        }
      : null,
    log,
    onRestart(role, number) {
      restarts = { ...restarts, [role]: restarts[role] + 1 }
      if (role === 'listener') reports.countRestart(number)
      if (api) send(api, { restarts })
    },
    onGivenUp: (code) => giveUp(code),
  })

  const started = supervisor.start()
  process.on('SIGHUP', () => {
    log.info('SIGHUP: every process is replaced')
    started
      .then(() => supervisor.restart())
      .catch((error: unknown) => log.error({ err: error }, 'the processes could not be replaced'))
  })
  // A signal during the start stops it too.
  const failed = await Promise.race([started, stopping.then(() => null)])
  if (failed !== null) return failed
  if (!withApi) log.info({ ports, host: env.bindHost }, 'listening')
  if (!withApi) log.info('ready')
  ready()
  const end = await Promise.race([stopping, givenUp])
  log.info(typeof end === 'string' ? { signal: end } : { code: end }, 'stopping')
  let code = 0
  const stopped = await closed(async () => void (code = await supervisor.stop()), log)
  return typeof end === 'number' ? end : code || stopped
}

/**
 * Ports that all listeners can open, also those that start later. node:cluster shares a port by its number, so with 0 each
 * later listener would get another port.
 */
async function choosePorts(env: ListenerEnv, log: Log): Promise<{ apt: number; rpm: number }> {
  const choose = (name: string, port: number) =>
    env.mode === 'production' && port !== 0
      ? port
      : openPort({ mode: env.mode, log }, name, port, (port) => tried(port, env.bindHost))
  return { apt: await choose('apt and apk', env.aptPort), rpm: await choose('dnf and zypper', env.rpmRepoPort) }
}

/** Opens a port and closes it again. @returns the port */
function tried(port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ port, host }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : port))
    })
  })
}

/** Workers of node:cluster inherit the environment of the parent, so variables that a listener does not need are emptied. */
function forListener(source: Source, ports: { apt: number; rpm: number }): Record<string, string> {
  const empty = Object.fromEntries(Object.keys(source).map((name) => [name, '']))
  const needed = Object.entries(listenerSource(source)).filter(([, value]) => value !== undefined)
  const system = Object.entries(source).filter(([name]) => SYSTEM_VARIABLES.test(name))
  return {
    ...empty,
    ...(Object.fromEntries([...system, ...needed]) as Record<string, string>),
    APT_PORT: String(ports.apt),
    RPM_REPO_PORT: String(ports.rpm),
  }
}

/** Variables of the operating system and of Node. */
const SYSTEM_VARIABLES = /^(PATH|HOME|USER|TZ|LANG|LC_\w+|TMPDIR|NODE_\w+|MALLOC_\w+|UV_\w+)$/

function running(child: ChildProcess): Running {
  return {
    ready: new Promise((resolve) => {
      const isReady = (message: unknown) => {
        if (typeof message === 'object' && message !== null && 'ready' in message) resolve()
      }
      child.on('message', isReady)
    }),
    exited: new Promise((resolve) => {
      child.once('error', () => resolve(1))
      child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)))
    }),
    kill: (signal) => void child.kill(signal),
  }
}

function answerTo(child: ChildProcess, log: Log, answerOf: (question: unknown) => unknown): void {
  child.on('message', (message) => {
    answerQuestion(message, answerOf, (answer) => send(child, answer)).catch((error: unknown) =>
      log.error({ err: error }, 'a child process got no answer'),
    )
  })
}

/** Sends nothing to a process that is gone. */
function send(child: ChildProcess, message: object): void {
  if (child.connected) child.send(message, () => undefined)
}
