// Access logs of the repository listeners: rotated by name once a day; deleted when old, together with the rows read from them.
import { rename, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { DAY_MS } from '../../domain/durations.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Clock } from '../../kernel/clock.ts'
import { exists, isMissing } from '../../kernel/files.ts'
import { namesIn } from '../../kernel/files-below.ts'
import type { Db } from '../../store/db.ts'
import { dayOf } from '../../store/downloads/days.ts'
import { countOldDownloads, removeOldDownloads } from '../../store/downloads/removal.ts'
import type { RetentionStep } from './step.ts'

const CURRENT = /^access-.+\.log$/
/** Names of `dateext` of logrotate(8), which may have compressed the files; with a time, names of `serve/access-log-size`. */
const ROTATED = /^access-.+\.log-(\d{4})(\d\d)(\d\d)(?:-\d+)?(?:\.[a-z0-9]+)?$/

/**
 * Listeners open the current name again before they write, so a renamed log needs no signal (`serve/access-log`).
 * @param deps.directory ACCESS_LOG_DIR of this process; machines with another directory rotate their own logs
 */
export function accessLogsStep(deps: {
  clock: Clock
  directory: string
  db: Db
  settings(): Pick<Settings, 'retention'>
}): RetentionStep {
  const { clock, directory, db } = deps

  const firstDay = () => dayOf(clock.now()) - deps.settings().retention.access_log_days

  async function old(): Promise<string[]> {
    const days = deps.settings().retention.access_log_days
    const first = new Date(clock.now().getTime() - days * DAY_MS).toISOString().slice(0, 10)
    return (await namesIn(directory)).filter((name) => {
      const [, year, month, day] = ROTATED.exec(name) ?? []
      return year !== undefined && `${year}-${month}-${day}` < first
    })
  }

  /** @returns how many were renamed; empty logs, and logs that were already rotated today, stay */
  async function rotate(): Promise<number> {
    const suffix = clock.now().toISOString().slice(0, 10).replaceAll('-', '')
    let rotated = 0
    for (const name of (await namesIn(directory)).filter((one) => CURRENT.test(one))) {
      const path = join(directory, name)
      const to = `${path}-${suffix}`
      try {
        if ((await stat(path)).size === 0 || (await exists(to))) continue
        await rename(path, to)
        rotated++
      } catch (error) {
        if (!isMissing(error)) throw error
      }
    }
    return rotated
  }

  return {
    name: 'access_logs',
    plan: async () => ({ files: (await old()).length, downloads: await countOldDownloads(db, firstDay()) }),
    async run({ line, signal }) {
      const rotated = await rotate()
      const names = await old()
      for (const name of names) await unlink(join(directory, name))
      if (names.length > 0) line(`${names.length} files are deleted`)
      const downloads = await removeOldDownloads(db, firstDay(), signal)
      return { files: names.length, rotated, downloads }
    },
  }
}
