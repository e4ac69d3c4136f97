// Declarations of /backup: archives of the whole service.
import Type from 'typebox'
import { declare } from '../http/route.ts'
import { Nullable, TimeSchema } from '../http/schemas.ts'

const Name = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100, description: 'of the archive', examples: ['svc_backup_20260101'] }),
})

export const postBackup = declare({
  method: 'POST',
  path: '/backup',
  tag: 'backup',
  summary: 'Make a backup; answers when the archive is verified',
  access: 'admin',
  idempotencyKey: true,
  action: 'never',
  flags: { needsLeader: true },
  success: 201,
  answer: Type.Object(
    {
      status: Type.Literal('ok'),
      name: Type.String(),
      filename: Type.String(),
      size_bytes: Type.Integer(),
      sha256: Type.String(),
      created_at: TimeSchema,
      task_id: Type.Integer(),
      missing: Type.Integer({ description: 'package files that are lost and that the archive lacks' }),
      missing_files: Type.Array(Type.Object({ filename: Type.String(), sha256: Type.String() }), { maxItems: 20 }),
    },
    { title: 'Backup' },
  ),
  problems: [
    'already_running',
    'backup_unavailable',
    'storage_full',
    'storage_unavailable',
    'shutting_down',
    'task_cancelled',
  ],
})

export const getBackup = declare({
  method: 'GET',
  path: '/backup',
  tag: 'backup',
  summary: 'The archives, newest first',
  access: 'admin',
  answer: Type.Object(
    {
      backups: Type.Array(
        Type.Object({
          name: Type.String(),
          size_bytes: Type.Integer(),
          created_at: TimeSchema,
          sha256: Nullable(Type.String()),
          missing: Type.Integer(),
          format: Nullable(
            Type.Integer({ description: 'null for an archive of an older build, which does not list what it has' }),
          ),
        }),
      ),
      total: Type.Integer(),
      retention_count: Type.Integer(),
      directory: Type.String(),
    },
    { title: 'Backups' },
  ),
  problems: [],
})

export const getBackupName = declare({
  method: 'GET',
  path: '/backup/{name}',
  tag: 'backup',
  summary: 'Download an archive; ranges are answered',
  access: 'admin',
  action: 'never',
  params: Name,
  also: {
    206: 'The part that `Range` names',
    304: 'Not changed since the state that the request names',
    412: 'Changed since the state that the request names',
    416: 'The archive has no such part',
  },
  answer: null,
  media: ['application/gzip'],
  problems: ['invalid_archive_name', 'not_found'],
})

export const deleteBackupName = declare({
  method: 'DELETE',
  path: '/backup/{name}',
  tag: 'backup',
  summary: 'Delete an archive',
  access: 'admin',
  action: 'never',
  params: Name,
  answer: Type.Object({ status: Type.Literal('deleted'), name: Type.String() }),
  problems: ['invalid_archive_name', 'not_found'],
})
