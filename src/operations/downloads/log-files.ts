// Which access logs exist: those of our listeners, and those of nginx that the settings name, with their rotated files.
import { constants } from 'node:fs'
import { open, readdir, readlink, realpath } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { ifMissing } from '../../kernel/files.ts'
import type { DownloadLogKind } from '../../store/tables.ts'
import type { OpenLog } from './log-text.ts'

export interface LogPlace {
  path: string
  kind: DownloadLogKind
  /** the real file must be below one of these */
  roots: readonly string[]
}

/** `access-apt.log`, also after retention or logrotate(8) renamed it. */
const OURS = /^access-[\w.-]+\.log(?:-\d{8}(?:-\d+)?|\.\d{1,4})?(?:\.gz)?$/
/** The suffix of logrotate(8): a number, or a date with `dateext`. */
const ROTATION = /^(?:-\d{8}(?:-\d+)?|\.\d{1,4})?(?:\.gz)?$/
/** Limit of one directory; a log that is rotated every hour has 2,000 files in three months. */
const MOST_FILES = 10_000

/** The logs of our listeners: in the directory, and for other machines in its subdirectories. */
export async function ourLogs(directory: string): Promise<LogPlace[]> {
  const places: LogPlace[] = []
  const take = (at: string, names: readonly string[]) => {
    for (const name of names.filter((one) => OURS.test(one)))
      places.push({ path: join(at, name), kind: 'listeners', roots: [directory] })
  }
  const entries = await entriesOf(directory)
  take(
    directory,
    entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name),
  )
  for (const { name } of entries.filter((entry) => entry.isDirectory()).slice(0, MOST_FILES)) {
    const machine = join(directory, name)
    take(
      machine,
      (await entriesOf(machine)).map((entry) => entry.name),
    )
  }
  return places.sort(liveFirst)
}

/**
 * The logs of nginx.
 * @param named absolute paths, separated by commas
 * @param roots directories that must contain them
 */
export async function nginxLogs(named: string, roots: readonly string[]): Promise<LogPlace[]> {
  const places: LogPlace[] = []
  for (const path of pathsIn(named)) {
    const directory = dirname(path)
    const name = basename(path)
    for (const entry of await entriesOf(directory))
      if (entry.name.startsWith(name) && ROTATION.test(entry.name.slice(name.length)))
        places.push({ path: join(directory, entry.name), kind: 'nginx', roots })
  }
  return places.sort(liveFirst)
}

export const pathsIn = (named: string): string[] =>
  named
    .split(',')
    .map((path) => path.trim())
    .filter(Boolean)

/** Logs that are being written are first, because old logs may take long to read. */
const liveFirst = (a: LogPlace, b: LogPlace) => Number(isPacked(a.path)) - Number(isPacked(b.path))

const isPacked = (path: string) => path.endsWith('.gz')

/** @returns null when it is gone, or is no regular file @throws when it is not below one of the roots */
export async function openLog({ path, roots }: LogPlace): Promise<OpenLog | null> {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(ifMissing(null))
  if (!file) return null
  try {
    if (!(await file.stat()).isFile()) {
      await file.close()
      return null
    }
    const real = await readlink(`/proc/self/fd/${file.fd}`)
    for (const root of roots) {
      const allowed = await realpath(root).catch(() => null)
      if (allowed !== null && real.startsWith(allowed.endsWith(sep) ? allowed : allowed + sep))
        return { file, packed: isPacked(path) }
    }
    throw new Error(`${path} is not in one of the directories for access logs`)
  } catch (error) {
    await file.close()
    throw error
  }
}

async function entriesOf(directory: string) {
  const entries = await readdir(directory, { withFileTypes: true }).catch(ifMissing([]))
  return entries.slice(0, MOST_FILES)
}
