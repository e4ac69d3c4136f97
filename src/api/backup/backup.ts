// /backup: archives of the whole service.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../domain/caller.ts'
import type { Origin } from '../../domain/audit.ts'
import { Problem } from '../../domain/problem.ts'
import type { Settings } from '../../domain/settings.ts'
import { deleteArchive, findArchive, listArchives, type Archive } from '../../operations/backup/archives.ts'
import { BACKUP } from '../../operations/backup/backup-task.ts'
import { evaluate, lastModified, rangeIsCurrent, validatorsOf } from '../../serve/files/conditions.ts'
import { selectRange } from '../../serve/files/ranges.ts'
import { entityTag } from '../../serve/files/representation.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { openTask } from '../../tasks/task-query.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { deleteBackupName, getBackup, getBackupName, postBackup } from './backup.contract.ts'
import { handle, type Route } from '../http/route.ts'

export interface BackupRouteDeps {
  db: Db
  audit: Pick<AuditLog, 'record'>
  tasks: Pick<Tasks, 'run'>
  /** BACKUP_DIR */
  backupDirectory: string
  settings(): Pick<Settings, 'backup'>
}

export function backupRoutes(deps: BackupRouteDeps): Route[] {
  const { backupDirectory: directory } = deps

  const recorded = (action: string, name: string, by: Caller, origin: Origin) =>
    deps.audit.record({
      ...{ action, result: 'SUCCESS', user: by.name, detail: name },
      ...{ ip: origin.ip, requestId: origin.requestId },
    })

  return [
    handle(postBackup, async ({ caller, origin }) => {
      const open = await openTask(deps.db, BACKUP, '')
      if (open) throw new Problem('already_running', 'a backup is being made', { task_id: open.id })
      const request = { kind: BACKUP, arguments: { by: caller.name }, createdBy: caller.name }
      const made = await deps.tasks.run({ ...request, requestId: origin.requestId })
      const { name, filename, size_bytes, sha256, created_at, task_id, missing, missing_files } =
        made as unknown as Archive & {
          filename: string
          sha256: string
          task_id: number
          missing_files: { filename: string; sha256: string }[]
        }
      return { status: 'ok', name, filename, size_bytes, sha256, created_at, task_id, missing, missing_files }
    }),
    handle(getBackup, async () => {
      const backups = await listArchives(directory)
      const { retention_count } = deps.settings().backup
      return { backups, total: backups.length, retention_count, directory }
    }),
    handle(getBackupName, async ({ params, caller, origin, raw, reply }) => {
      const { path } = await findArchive(directory, params.name)
      // A download in several parts is one download.
      if (!raw.headers.range) await recorded('BACKUP_DOWNLOAD', params.name, caller, origin)
      return sendArchive(path, params.name, raw, reply)
    }),
    handle(deleteBackupName, async ({ params, caller, origin }) => {
      await deleteArchive(directory, params.name)
      await recorded('BACKUP_DELETE', params.name, caller, origin)
      return { status: 'deleted', name: params.name }
    }),
  ]
}

/** Sends the file, or the requested part of it (RFC 9110, section 14). */
async function sendArchive(path: string, name: string, { headers }: FastifyRequest, reply: FastifyReply) {
  const info = await stat(path, { bigint: true })
  const size = Number(info.size)
  const now = Date.now()
  const validators = validatorsOf(entityTag(info), Number(info.mtimeMs), now)
  reply
    .header('accept-ranges', 'bytes')
    .header('etag', validators.etag)
    .header('last-modified', lastModified(validators, now))
    .header('cache-control', 'no-store')
  const outcome = evaluate(headers, validators, now)
  if (outcome !== 'send') return reply.code(outcome === 'not_modified' ? 304 : 412).send()
  const asked = headers.range && rangeIsCurrent(headers, validators, now) ? selectRange(headers.range, size) : null
  if (asked?.kind === 'unsatisfiable') return reply.code(416).header('content-range', `bytes */${size}`).send()
  const [first, last] = asked?.kind === 'part' ? [asked.first, asked.last] : [0, size - 1]
  if (asked?.kind === 'part') reply.code(206).header('content-range', `bytes ${first}-${last}/${size}`)
  return reply
    .type('application/gzip')
    .header('content-disposition', `attachment; filename="${name}"`)
    .header('content-length', last - first + 1)
    .send(createReadStream(path, { start: first, end: last }))
}
