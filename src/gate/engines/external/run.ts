// Runs an external program with bounded time, output and environment. Knows no scanner.
import { spawn } from 'node:child_process'
import { createSemaphore } from '../../../kernel/semaphore.ts'

/** Why a program gave no answer. The message is a sentence for people, with at most the last line of the program's own output. */
export class ProgramFailed extends Error {
  override readonly name = 'ProgramFailed'
  readonly reason: 'missing' | 'timeout' | 'too_much' | 'failed'
  /** the end of what it wrote to stderr */
  readonly said: string
  constructor(reason: ProgramFailed['reason'], message: string, said = '') {
    super(message)
    this.reason = reason
    this.said = said
  }
}

export interface Run {
  args: readonly string[]
  /** written to its stdin, which is then closed */
  input?: string
  timeoutMs: number
  /** of stdout; more is a failure, because a truncated document is useless */
  maxBytes?: number
  /** after an exit with an error, run once more after this time: the files it reads may just have been replaced */
  againAfterMs?: number
  /** called with each line of stderr */
  progress?(line: string): void
}

export interface Program {
  readonly name: string
  /** @returns stdout @throws ProgramFailed */
  run(run: Run): Promise<string>
}

const MAX_BYTES = 64 << 20
const KEPT_STDERR = 8192

/**
 * @param deps.env the whole environment the program gets: nothing is inherited
 * @param deps.directory its working directory; scanners read settings from there
 * @param deps.atOnce how many run at the same time; more wait
 * @param deps.why finds the reason of a failure in stderr, if it is not the last line
 */
export function createProgram(deps: {
  name: string
  path: string
  env: Record<string, string>
  directory(): Promise<string>
  atOnce?: number
  why?(said: string): string | undefined
}): Program {
  const runInTurn = createSemaphore(deps.atOnce ?? 2)
  return {
    name: deps.name,
    async run(run) {
      const once = () => runInTurn(async () => start(deps, await deps.directory(), run))
      try {
        return await once()
      } catch (error) {
        if (run.againAfterMs === undefined || !(error instanceof ProgramFailed) || error.reason !== 'failed')
          throw error
        await new Promise((resolve) => setTimeout(resolve, run.againAfterMs))
        return once()
      }
    },
  }
}

function start(
  { name, path, env, why = lastLine }: Omit<Parameters<typeof createProgram>[0], 'directory'>,
  directory: string,
  run: Run,
): Promise<string> {
  return new Promise((resolve, reject) => {
    // Its own process group, so that the processes it starts end with it.
    const child = spawn(path, [...run.args], { cwd: directory, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
    const out: Buffer[] = []
    let size = 0
    let said = ''
    let line = ''
    let failure: ProgramFailed | null = null
    const stop = (reason: ProgramFailed) => {
      failure ??= reason
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // It has ended by itself.
      }
    }
    const timer = setTimeout(
      () =>
        stop(new ProgramFailed('timeout', `${name} did not answer within ${Math.round(run.timeoutMs / 1000)} seconds`)),
      run.timeoutMs,
    )
    child.stdout.on('data', (part: Buffer) => {
      size += part.length
      if (size > (run.maxBytes ?? MAX_BYTES))
        stop(new ProgramFailed('too_much', `${name} wrote more than ${run.maxBytes ?? MAX_BYTES} bytes`))
      else out.push(part)
    })
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      said = (said + part).slice(-KEPT_STDERR)
      if (!run.progress) return
      const lines = (line + part).split('\n')
      line = lines.pop()!.slice(-KEPT_STDERR)
      for (const whole of lines) if (whole.trim() !== '') run.progress(plain(whole))
    })
    child.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      const missing = error.code === 'ENOENT' || error.code === 'EACCES'
      reject(
        new ProgramFailed(
          missing ? 'missing' : 'failed',
          missing ? `there is no program ${name} here` : `${name} could not be run: ${error.message}`,
        ),
      )
    })
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      if (failure) reject(failure)
      else if (code === 0) resolve(Buffer.concat(out).toString('utf8'))
      else {
        const text = plain(said)
        const reason = (crash(text) ?? why(text) ?? lastLine(text))?.trim().slice(0, 500)
        reject(
          new ProgramFailed(
            'failed',
            `${name} ended with ${signal ?? `code ${code}`}${reason ? `: ${reason}` : ''}`,
            text,
          ),
        )
      }
    })
    // A program that ends without reading its input is judged by how it ended.
    child.stdin.on('error', () => {})
    child.stdin.end(run.input ?? '')
  })
}

/**
 * Why a Go program crashed; undefined unless it wrote the stacks of its goroutines. The stacks are the last lines; the reason is
 * before them and may be cut off.
 */
function crash(text: string): string | undefined {
  if (!/^\s+\S+\.go:\d+ \+0x/m.test(text)) return undefined
  return /^(?:panic|fatal error): .*/m.exec(text)?.[0] ?? 'it crashed'
}

/** Without ANSI colours. */
function plain(text: string): string {
  return text.replace(/\x1b\[[0-9;]*[A-Za-z]/g, '').trim()
}

const lastLine = (said: string) =>
  said
    .split('\n')
    .filter((line) => line.trim() !== '')
    .at(-1)
