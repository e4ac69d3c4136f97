// The lock on the directory of an embedded database: PGlite itself opens a directory twice without an error.
//
// proper-lockfile 4.1 (of 2021) identifies a holder only by the time of its file: it took the lock of a stopped process, which
// then wrote beside the new owner; after kill -9 the lock stayed for 10 s (here 1 ms). When six processes found an old lock, two
// became owners in 41 of 150 tries. It also replaces `process.emit` and `process.reallyExit`, and listens to SIGTERM.
import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ensurePrivateDirectory, isMissing } from '../../kernel/files.ts'
import { processSpace } from '../../kernel/process-space.ts'
import { StartError } from '../../kernel/start-error.ts'

const PREFIX = 'gatehouse.lock.'
const ATTEMPTS = 5
/** Longest pause between two attempts, ms. */
const PAUSE_MS = 50
/** How often a holder writes its file, ms. */
const BEAT_MS = 5_000
/** A holder in another process namespace is dead when it last wrote its file this long ago, in ms: it missed six beats. */
const DEAD_AFTER_MS = 30_000

export interface LockOptions {
  beatMs?: number
  /** Called when another process considered this one dead, because it stood still that long. */
  onLost?: (error: Error) => void
}

/**
 * Takes the lock. Each process announces itself in a separate file and then reads all the others: of two that race, the
 * one that reads last sees the other, so both never own the lock. A process that sees another living process removes its own
 * file; both may do so, which is why they try again after a random pause. The files of dead processes are deleted; their names
 * are never used again, so a deletion cannot remove a lock that was taken meanwhile.
 *
 * A process of another machine or container cannot be looked up: it counts as alive as long as it writes its file. The compared
 * file times come from one file system, so clocks need not agree.
 *
 * @returns a function that releases the lock
 * @throws StartError when a living process holds it
 */
export async function lockDirectory(
  directory: string,
  { beatMs = BEAT_MS, onLost = endProcess }: LockOptions = {},
): Promise<() => Promise<void>> {
  await ensurePrivateDirectory(directory)
  for (let attempt = 1; ; attempt++) {
    const own = announce(directory)
    const release = () => rmSync(join(directory, own), { force: true })
    const holder = otherHolder(directory, own)
    if (holder === null) {
      const stopBeating = beat(join(directory, own), beatMs, () =>
        onLost(new Error(`another process took the embedded database in ${directory}: this one had stood still`)),
      )
      return async () => {
        stopBeating()
        release()
      }
    }
    release()
    if (attempt === ATTEMPTS) throw new StartError(`the embedded database in ${directory} is in use by ${holder}`)
    await wait(Math.random() * PAUSE_MS)
  }
}

/** Creates the file with its whole content in one step. @returns its name */
function announce(directory: string): string {
  const token = randomUUID()
  const unfinished = join(directory, `.${PREFIX}${token}`)
  writeFileSync(unfinished, `${process.pid} ${startTime(process.pid)} ${processSpace()}\n`, { mode: 0o600 })
  renameSync(unfinished, join(directory, PREFIX + token))
  return PREFIX + token
}

/** Writes the file again and again, so that its time shows that this process is alive. @returns a function that ends it */
function beat(path: string, ms: number, onLost: () => void): () => void {
  const file = openSync(path, 'r+')
  const first = readFileSync(file).subarray(0, 1)
  const timer = setInterval(() => {
    writeSync(file, first, 0, 1, 0)
    if (fstatSync(file).nlink > 0) return
    stop()
    onLost()
  }, ms)
  timer.unref()
  let isOpen = true
  const stop = () => {
    clearInterval(timer)
    if (isOpen) closeSync(file)
    isOpen = false
  }
  return stop
}

/** An exception that belongs to no work ends the process in order (kernel/uncaught). */
function endProcess(error: Error): void {
  throw error
}

/** The name of another living process that has a lock file, or null; files of dead ones are deleted. */
function otherHolder(directory: string, own: string): string | null {
  const nowMs = statSync(join(directory, own)).mtimeMs
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(PREFIX) || name === own) continue
    const holder = holderOf(join(directory, name), nowMs)
    if (holder !== null) return holder
    rmSync(join(directory, name), { force: true })
  }
  return null
}

/** The living process that a lock file names, or null. A file of an older build names no namespace: ours is assumed. */
function holderOf(path: string, nowMs: number): string | null {
  let text: string
  let ageMs: number
  try {
    text = readFileSync(path, 'utf8')
    ageMs = nowMs - statSync(path).mtimeMs
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
  const [pid = '', started = '', ...space] = text.trim().split(' ')
  if (!/^[1-9]\d*$/.test(pid)) return null
  if (space.length === 0 || space.join(' ') === processSpace())
    return startTime(Number(pid)) === started ? `process ${pid}` : null
  if (ageMs >= DEAD_AFTER_MS) return null
  const [host] = space
  const seen = `which was alive ${Math.max(0, Math.round(ageMs / 1000))} s ago`
  return `process ${pid} of another container or machine (${host}), ${seen}: it is free ${DEAD_AFTER_MS / 1000} s after that has ended; two services at once need PostgreSQL`
}

/** Start time of a process in clock ticks, to recognize a reused process number; empty when the process is gone. */
function startTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch (error) {
    if (!isMissing(error) && (error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    if (process.platform === 'linux') return ''
    try {
      process.kill(pid, 0)
      return 'alive'
    } catch {
      return ''
    }
  }
}
