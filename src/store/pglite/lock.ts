// The lock on the directory of an embedded database: PGlite itself opens a directory twice without an error.
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ensurePrivateDirectory, isMissing } from '../../kernel/files.ts'
import { StartError } from '../../kernel/start-error.ts'

const PREFIX = 'gatehouse.lock.'
const ATTEMPTS = 5
/** Longest pause between two attempts, ms. */
const PAUSE_MS = 50

/**
 * Takes the lock. Each process announces itself in a file of its own and then reads all the others: of two that race, the
 * one that reads last sees the other, so both never own it. One that sees another living process takes its file back; both
 * may do so, which is why they try again after a random pause. The files of dead processes are deleted; their names are
 * never used again, so a deletion cannot hit a lock that was taken meanwhile.
 *
 * A process of another machine or container is not seen: two of them need PostgreSQL.
 *
 * @returns a function that releases the lock
 * @throws StartError when a living process holds it
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  await ensurePrivateDirectory(directory)
  for (let attempt = 1; ; attempt++) {
    const own = announce(directory)
    const release = () => rmSync(join(directory, own), { force: true })
    const holder = otherHolder(directory, own)
    if (holder === null) return async () => release()
    release()
    if (attempt === ATTEMPTS)
      throw new StartError(`the embedded database in ${directory} is in use by process ${holder}`)
    await wait(Math.random() * PAUSE_MS)
  }
}

/** @returns the name of the file, which appears complete */
function announce(directory: string): string {
  const token = randomUUID()
  const unfinished = join(directory, `.${PREFIX}${token}`)
  writeFileSync(unfinished, `${process.pid} ${startTime(process.pid)}\n`, { mode: 0o600 })
  renameSync(unfinished, join(directory, PREFIX + token))
  return PREFIX + token
}

/** The number of another living process that has a lock file, or null; files of dead ones are deleted. */
function otherHolder(directory: string, own: string): number | null {
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(PREFIX) || name === own) continue
    const holder = holderOf(readIfPresent(join(directory, name)))
    if (holder !== null) return holder
    rmSync(join(directory, name), { force: true })
  }
  return null
}

/** The living process that a lock file names, or null. */
function holderOf(text: string): number | null {
  const [pid = '', started = ''] = text.trim().split(' ')
  return /^[1-9]\d*$/.test(pid) && startTime(Number(pid)) === started ? Number(pid) : null
}

function readIfPresent(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return ''
    throw error
  }
}

/** Start time of a process in clock ticks, so that a reused process number is not taken for the holder; empty when it is gone. */
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
