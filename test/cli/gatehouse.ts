// Runs the built command as a person or a CI system would: on the oldest supported Node, with a separate home and
// nothing else in the environment.
import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { otherNode } from '../other-node.ts'

const ROOT = join(import.meta.dirname, '..', '..')
export const COMMAND = join(ROOT, 'dist', 'cli', 'gatehouse.mjs')
const { engines } = JSON.parse(readFileSync(join(ROOT, 'cli', 'package.json'), 'utf8')) as { engines: { node: string } }
/** The oldest Node that command and client support: 20.19.0 for `>=20.19`. */
export const NODE = otherNode(`${engines.node.replace('>=', '')}.0`)
/** The configuration, below a home. */
export const CONFIG = '.config/gatehouse/config.json'
/** A terminal for programs: see its file. */
const TERMINAL = join(import.meta.dirname, 'terminal.py')

export interface Ran {
  code: number | null
  signal: NodeJS.Signals | null
  out: string
  err: string
}

export interface RunOptions {
  env?: Record<string, string>
  /** standard input; empty and closed by default */
  input?: string
  cwd?: string
}

export interface Home {
  path: string
  /** the output of all runs, to search for secrets */
  printed: string[]
  run(args: readonly string[], options?: RunOptions): Promise<Ran>
  /** @returns the process, and its future result */
  start(args: readonly string[], options?: RunOptions): { child: ChildProcess; ended: Promise<Ran>; seen: Ran }
  /** Runs in a pseudo-terminal; `answers` are typed when their prompt appears. `out` has everything that the terminal showed. */
  onTerminal(
    args: readonly string[],
    answers?: readonly (readonly [prompt: string, typed: string])[],
    options?: RunOptions,
  ): Promise<Ran>
  /** any program, in the same environment */
  program(command: readonly string[], options?: RunOptions): Promise<Ran>
  remove(): Promise<void>
}

/** @param common variables of every run, such as GATEHOUSE_URL */
export async function newHome(common: Record<string, string> = {}): Promise<Home> {
  const path = await mkdtemp(join(tmpdir(), 'gatehouse-home-'))
  const printed: string[] = []

  function begin([program = '', ...args]: readonly string[], { env = {}, input = '', cwd = path }: RunOptions) {
    const child = spawn(program, args, {
      cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: path, LC_ALL: 'C.UTF-8', TERM: 'xterm', ...common, ...env },
    })
    const seen: Ran = { code: null, signal: null, out: '', err: '' }
    child.stdout.on('data', (piece) => (seen.out += String(piece)))
    child.stderr.on('data', (piece) => (seen.err += String(piece)))
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const ended = new Promise<Ran>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code, signal) => {
        Object.assign(seen, { code, signal })
        printed.push(seen.out, seen.err)
        resolve(seen)
      })
    })
    return { child, ended, seen }
  }

  const start: Home['start'] = (args, options = {}) => begin([NODE, COMMAND, ...args], options)
  return {
    path,
    printed,
    start,
    run: (args, options) => start(args, options).ended,
    onTerminal: (args, answers = [], options = {}) =>
      begin(['python3', TERMINAL, JSON.stringify(answers), NODE, COMMAND, ...args], options).ended,
    program: (command, options = {}) => begin(command, options).ended,
    remove: () => rm(path, { recursive: true, force: true }),
  }
}
