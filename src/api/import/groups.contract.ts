// Declarations of /import/groups: packages that were imported under one group name.
import Type from 'typebox'
import { declare } from '../http/route.ts'
import { listOf, TimeSchema } from '../http/schemas.ts'

export const getImportGroups = declare({
  method: 'GET',
  path: '/import/groups',
  tag: 'import',
  summary: 'The 200 newest import groups, each with its first 50 packages',
  access: 'uploader+',
  answer: listOf(
    'groups',
    Type.Object({
      name: Type.String(),
      package_count: Type.Integer(),
      total_size_bytes: Type.Integer(),
      imported_at: TimeSchema,
      packages: Type.Array(
        Type.Object({
          name: Type.String(),
          version: Type.String(),
          arch: Type.String(),
          distribution: Type.String(),
          status: Type.String(),
        }),
      ),
    }),
  ),
  problems: [],
})

export const deleteImportGroupsName = declare({
  method: 'DELETE',
  path: '/import/groups/{name}',
  tag: 'import',
  summary: 'Delete every package of an import group',
  access: 'maintainer+',
  flags: { needsLeader: true },
  params: Type.Object({
    name: Type.String({ minLength: 1, maxLength: 100, description: 'of the group', examples: ['web-servers'] }),
  }),
  answer: Type.Object({
    status: Type.Literal('deleted'),
    name: Type.String(),
    deleted: Type.Integer(),
    task_id: Type.Integer(),
  }),
  problems: ['not_found', 'publication_failed', 'storage_unavailable', 'task_cancelled'],
})
