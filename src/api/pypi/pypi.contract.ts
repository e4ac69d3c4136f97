// Declarations of /pypi: what pip, uv, poetry and twine ask of a repository.
import Type from 'typebox'
import type { ProblemCode } from '../../domain/problem.ts'
import { REPOSITORY_NAME } from '../../domain/repositories.ts'
import { PROVENANCE_MEDIA } from '../../formats/pypi/documents.ts'
import type { Protocol } from '../http/protocol.ts'
import { declare } from '../http/route.ts'
import { Nullable } from '../http/schemas.ts'
import { PIPELINE_PROBLEMS } from '../upload/upload.contract.ts'
import { FORMS } from './accept.ts'

const READING: ProblemCode[] = [
  // A proxy asks its upstream.
  ...(['upstream_error', 'forbidden_target'] as const),
  ...(['database_unavailable', 'database_busy', 'unauthorized', 'forbidden', 'mfa_required', 'not_found'] as const),
]
const TEXT = 'text/plain; charset=utf-8'

/** Errors in text: clients print the reason phrase, which has the sentence too. */
export const pypi: Protocol = {
  prefix: '/pypi',
  errors: { media: TEXT, body: ({ detail }, status) => `${status} ${detail}\n` },
  challenge: { scheme: 'Basic', parameters: () => ({ realm: 'Gatehouse' }) },
}

const Repo = Type.String({
  pattern: REPOSITORY_NAME,
  description: 'The name of the repository.',
  examples: ['team'],
})
const Project = Type.String({ maxLength: 200, description: 'The name of the project.', examples: ['acme-tool'] })
const File = Type.String({
  maxLength: 300,
  description: 'The name of the file; with `.metadata` or `.provenance` at its end, what is known about it.',
  examples: ['acme_tool-1.4.2-py3-none-any.whl'],
})

// Clients know these routes, so they are not in the OpenAPI document. A resolver reads hundreds of pages and files in a minute, and none
// of them costs more than a file of apt.
const common = {
  root: true,
  tag: 'pypi',
  protocol: pypi,
  access: 'public',
  limit: 'none',
  answer: null,
  flags: { hidden: true },
} as const
const unchanged = 'Not changed since the state that the request names'
const conditions = {
  304: unchanged,
  412: 'Changed since the state that the request names',
}
const slash = { 301: 'To the normalized name, with a slash at the end' }

export const getPypiRepoSimple = declare({
  ...common,
  method: 'GET',
  path: '/pypi/{repo}/simple',
  summary: 'The projects of a repository of Python packages, in JSON or HTML (Simple API 1.4)',
  params: Type.Object({ repo: Repo }),
  also: { ...slash, ...conditions },
  media: FORMS,
  problems: [...READING, 'not_acceptable'],
})

export const getPypiRepoSimpleProject = declare({
  ...common,
  method: 'GET',
  path: '/pypi/{repo}/simple/{project}',
  summary: 'The files of a project, in JSON or HTML; held ones are yanked with the reason',
  params: Type.Object({ repo: Repo, project: Project }),
  also: { ...slash, ...conditions },
  media: FORMS,
  problems: [...READING, 'not_acceptable'],
})

export const getPypiRepoFilesProjectFile = declare({
  ...common,
  method: 'GET',
  path: '/pypi/{repo}/files/{project}/{file}',
  summary: 'A file; with `.metadata` its core metadata (PEP 658), with `.provenance` its attestations (PEP 740)',
  params: Type.Object({ repo: Repo, project: Project, file: File }),
  also: { 206: 'The requested range', ...conditions, 416: 'No such range' },
  media: ['application/octet-stream', TEXT, PROVENANCE_MEDIA],
  problems: [...READING, 'policy_hold', 'not_judged', 'storage_unavailable', 'storage_full'],
})

export const postPypiRepoLegacy = declare({
  ...common,
  method: 'POST',
  path: '/pypi/{repo}/legacy',
  summary: 'Publish a file, as twine and uv do; the same bytes again change nothing',
  access: 'uploader+',
  action: 'upload',
  targets: 'handler',
  limit: 'publish',
  flags: { hidden: true, multipart: true },
  params: Type.Object({ repo: Repo }),
  form: Type.Object({
    ':action': Type.Literal('file_upload'),
    name: Type.String({ description: 'of the project' }),
    version: Type.String(),
    content: Type.String({ format: 'binary', description: 'the wheel or source distribution' }),
    filetype: Type.Optional(Type.Enum(['bdist_wheel', 'sdist'])),
    sha256_digest: Type.Optional(Type.String({ description: 'of the file, in hex: other bytes are refused' })),
    md5_digest: Type.Optional(Type.String({ description: 'the same' })),
    attestations: Type.Optional(
      Type.String({
        description:
          'JSON (PEP 740): verified against the file, which waits for a review otherwise; what holds is offered as it came',
      }),
    ),
  }),
  example: {
    ':action': 'file_upload',
    name: 'acme-tool',
    version: '1.4.2',
    content: 'acme_tool-1.4.2-py3-none-any.whl',
  },
  media: [TEXT],
  problems: [...READING, ...PIPELINE_PROBLEMS, 'policy_hold', 'not_hosted', 'version_spent'],
})

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
