// Declarations about one version in a repository.
import Type from 'typebox'
import { REPOSITORY_NAME } from '../../domain/repositories.ts'
import { declare } from '../http/route.ts'
import { Nullable } from '../http/schemas.ts'

const Yanked = Nullable(Type.String({ maxLength: 500, description: 'why it should not be used; null takes it back' }))

export const patchRegistriesPypiNamePackagesPackageVersion = declare({
  method: 'PATCH',
  path: '/registries/pypi/{name}/packages/{package}/{version}',
  tag: 'registries',
  summary: 'Yank a version (PEP 592): clients install it only when exactly this version is asked for',
  access: 'maintainer+',
  action: 'delete',
  targets: ({ params }) => [{ distribution: `pypi/${params.name}`, format: 'pypi', name: params.package }],
  example: { yanked: 'loses data on Windows' },
  params: Type.Object({
    name: Type.String({ pattern: REPOSITORY_NAME, description: 'of the repository', examples: ['team'] }),
    package: Type.String({
      maxLength: 200,
      description: 'The normalized name of the project.',
      examples: ['acme-tool'],
    }),
    version: Type.String({ maxLength: 256, description: 'The version in its normal form.', examples: ['1.4.2'] }),
  }),
  body: Type.Object({ yanked: Yanked }),
  answer: Type.Object({ package: Type.String(), version: Type.String(), yanked: Yanked }),
  problems: ['validation_error', 'not_found', 'not_hosted', 'publication_failed', 'storage_full'],
})
