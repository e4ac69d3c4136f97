// A lock file for a file on shared storage that several replicas change. The lock of a dead process is taken over.
import { link, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join, basename } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Problem } from '../../domain/problem.ts'
import type { Clock } from '../../kernel/clock.ts'
import { randomToken } from '../../kernel/crypto.ts'
import { ifMissing, isMissing, writeDurably } from '../../kernel/files.ts'

/** The work under the lock reads and writes a few kilobytes; a process that holds it longer has died. */
const STALE_AFTER_MS = 30_000
const POLL_MS = 20

/**
 * Runs `work` while no other process runs its own under the same path.
 * @param waitMs how long to wait for another holder
 * @throws Problem('timeout') when the lock did not come free
 */
export async function withFileLock<T>(path: string, clock: Clock, work: () => Promise<T>, waitMs = 10_000): Promise<T> {
  const lock = join(dirname(path), `.${basename(path)}.lock`)
  const mine = `${clock.now().toISOString()} ${randomToken(12)}`
  for (let waited = 0; !(await take(lock, mine)); waited += POLL_MS) {
    if (await removeStale(lock, clock)) continue
    if (waited >= waitMs) throw new Problem('timeout', 'another process is changing the settings; try again')
    await wait(POLL_MS)
  }
  try {
    return await work()
  } finally {
    // A lock that was taken over in between belongs to another process.
    if ((await contentOf(lock)) === mine) await rm(lock, { force: true })
  }
}

/** Creates the lock with its content in one step, so that a crash never leaves an empty one. */
async function take(lock: string, content: string): Promise<boolean> {
  const temporary = `${lock}.${randomToken(6)}.tmp`
  try {
    await writeDurably(temporary, content, 0o600)
    await link(temporary, lock)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(temporary, { force: true })
  }
}

async function removeStale(lock: string, clock: Clock): Promise<boolean> {
  const content = await contentOf(lock)
  if (content === null) return true
  const age = clock.now().getTime() - Date.parse(content.split(' ')[0] ?? '')
  if (Math.abs(age) < STALE_AFTER_MS) return false
  const aside = `${lock}.${randomToken(6)}.stale`
  try {
    await rename(lock, aside)
  } catch (error) {
    if (isMissing(error)) return true
    throw error
  }
  // Another process may have taken over between the check and the rename: its lock is put back.
  if ((await contentOf(aside)) !== content) await link(aside, lock).catch(() => {})
  await rm(aside, { force: true })
  return true
}

async function contentOf(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(ifMissing(null))
}
