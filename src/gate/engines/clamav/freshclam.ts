// Updates ClamAV's signatures by running freshclam, and remembers when the mirror may be asked again.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Problem } from '../../../domain/problem.ts'
import { isoTime, type Clock } from '../../../kernel/clock.ts'
import type { UpdateOutcome } from '../scanner.ts'

export interface Freshclam {
  /**
   * Runs freshclam to its end; it loads only what changed.
   * @param progress called with each line of its output
   * @throws Problem('already_running'), and 'scanner_unavailable' when there is no such program
   */
  update(progress?: (line: string) => void): Promise<UpdateOutcome>
  /** ISO time until which the mirror wants no more requests; null when it may be asked */
  cooldownUntil(): string | null
}

const TIMEOUT_MS = 15 * 60_000
const COOLDOWN_MS = 60 * 60_000
const KEPT_LINES = 50

/** @param program path or name of freshclam */
export function createFreshclam(deps: { program: string; clock: Clock; timeoutMs?: number }): Freshclam {
  const { program, clock, timeoutMs = TIMEOUT_MS } = deps
  let running = false
  let cooldown: Date | null = null

  const cooldownUntil = () => (cooldown && cooldown > clock.now() ? isoTime(cooldown) : null)

  return {
    cooldownUntil,
    async update(progress = () => {}) {
      if (running) throw new Problem('already_running', 'the signatures are being updated already')
      const until = cooldownUntil()
      if (until) return { status: 'cooldown', message: `the mirror wants no requests until ${until}` }
      running = true
      try {
        const { code, lines } = await run(program, timeoutMs, progress)
        const outcome = outcomeOf(code, lines)
        // freshclam prints the end of the cool-down in local time without a zone; an hour is a good approximation.
        if (outcome.status === 'cooldown') cooldown = new Date(clock.now().getTime() + COOLDOWN_MS)
        return outcome
      } finally {
        running = false
      }
    },
  }
}

function run(
  program: string,
  timeoutMs: number,
  progress: (line: string) => void,
): Promise<{ code: number | null; lines: string[] }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['--stdout'], { stdio: ['ignore', 'pipe', 'pipe'] })
    const lines: string[] = []
    const take = (line: string) => {
      const text = line.trim()
      if (text === '') return
      lines.push(text)
      if (lines.length > KEPT_LINES) lines.shift()
      progress(text)
    }
    createInterface({ input: child.stdout }).on('line', take)
    createInterface({ input: child.stderr }).on('line', take)
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
    child.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      const missing = error.code === 'ENOENT' || error.code === 'EACCES'
      reject(
        missing
          ? new Problem(
              'scanner_unavailable',
              'there is no program here that updates the signatures',
              {},
              { retryAfterSeconds: 3600 },
            )
          : error,
      )
    })
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ code, lines })
    })
  })
}

/** freshclam exits with 0 whether it loaded something or there was nothing to load; releases before 0.103 may exit with 1. */
export function outcomeOf(code: number | null, lines: readonly string[]): UpdateOutcome {
  const said = (pattern: RegExp) => lines.find((line) => pattern.test(line))
  const cooling = said(/cool-?down/i)
  if (cooling) return { status: 'cooldown', message: cooling }
  const updated = lines.filter((line) => /\bupdated \(version/i.test(line))
  if ((code === 0 || code === 1) && updated.length > 0) return { status: 'updated', message: updated.join('; ') }
  if ((code === 0 || code === 1) && said(/up[- ]to[- ]date/i))
    return { status: 'up_to_date', message: 'the signatures are up to date' }
  if (code === 0) return { status: 'up_to_date', message: lines.at(-1) ?? 'nothing to load' }
  return {
    status: 'failed',
    message: said(/^ERROR:/) ?? lines.at(-1) ?? (code === null ? 'it took too long' : `it ended with code ${code}`),
  }
}
