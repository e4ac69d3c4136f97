// Backups: what their task needs from the other rooms.
import { backupKind } from '../../operations/backup/backup-task.ts'
import { dumpDatabase } from '../../operations/backup/database/dump.ts'
import { stateOfDump } from '../../operations/backup/dumped-state.ts'
import type { Foundation } from './foundation.ts'

export function createBackups({ env, db, database, clock, paths, pool, audit, settings }: Foundation) {
  return backupKind({
    ...{ db, clock, paths, pool, audit },
    directory: env.backupDir,
    version: env.appVersion,
    settings: settings.current,
    dump: (to, signal) => dumpDatabase(database, to, { signal }),
    stateOf: stateOfDump,
  })
}
