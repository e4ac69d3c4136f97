// PGlite opens a directory twice without a word (components.md, section 2): this lock refuses the second process.
import { open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from '../../kernel/start-error.ts'
import { ensurePrivateDirectory, isMissing } from '../../kernel/files.ts'

const LOCK = 'gatehouse.lock'

/**
 * @returns a function that gives the directory free again
 * @throws when a living process holds it; the lock of a dead one is taken over
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  await ensurePrivateDirectory(directory)
  const path = join(directory, LOCK)
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      const handle = await open(path, 'wx', 0o600)
      await handle.writeFile(`${process.pid} ${await startTime(process.pid)}\n`)
      await handle.close()
      return () => rm(path, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const [pid = '', started = ''] = (await readFile(path, 'utf8').catch(() => '')).trim().split(' ')
    if (pid && (await startTime(Number(pid))) === started) {
      throw new StartError(`the embedded database in ${directory} is in use by process ${pid}`)
    }
    await rm(path, { force: true })
  }
  throw new StartError(`cannot lock the embedded database in ${directory}`)
}

/** Start time of a process in clock ticks, so that a reused number is not taken for the holder; empty when it is gone. */
async function startTime(pid: number): Promise<string> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch (error) {
    if (!isMissing(error)) throw error
    if (process.platform === 'linux') return ''
    try {
      process.kill(pid, 0)
      return 'alive'
    } catch {
      return ''
    }
  }
}
