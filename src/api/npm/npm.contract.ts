// Declarations of /npm: what npm, pnpm, yarn and bun ask of a registry.
import Type from 'typebox'
import type { ProblemCode } from '../../domain/problem.ts'
import { SHORT_MEDIA } from '../../formats/npm/documents.ts'
import { declare } from '../http/route.ts'
import { PIPELINE_PROBLEMS } from '../upload/upload.contract.ts'
import { npmProtocol } from './protocol.ts'

const DATABASE: ProblemCode[] = ['database_unavailable', 'database_busy']
/** A proxy asks its upstream. */
const PROXYING: ProblemCode[] = ['upstream_error', 'forbidden_target']
const READING: ProblemCode[] = [...DATABASE, ...PROXYING, 'unauthorized', 'forbidden', 'mfa_required', 'not_found']
const WRITING: ProblemCode[] = [...DATABASE, 'not_found', 'not_hosted', 'publication_failed', 'storage_full']

// Clients of npm know these routes; in the OpenAPI document they would take 23 KB.
const common = { root: true, tag: 'npm', protocol: npmProtocol, flags: { hidden: true, encodedSlashes: true } } as const
// One installation asks for hundreds of packages.
const read = { ...common, method: 'GET', access: 'public', limit: 'none' } as const
const write = { ...common, targets: 'handler' } as const
const upload = { ...write, access: 'uploader+', action: 'upload' } as const
const remove = { ...write, method: 'DELETE', access: 'maintainer+', action: 'delete' } as const

const Repo = { repo: Type.String() }
const Package = Type.Object({
  ...Repo,
  package: Type.String({ description: 'A name, with its scope.', examples: ['@acme/hello'] }),
})
const Tag = Type.Object({ ...Package.properties, tag: Type.String() })
const Revised = { rev: Type.String() }
const File = { file: Type.String() }
const Done = Type.Object({ ok: Type.Literal(true) }, { title: 'NpmDone' })
const conditional = { 304: 'Not changed', 412: 'Changed meanwhile' } as const

export const getPackage = declare({
  ...read,
  path: '/npm/{repo}/{package+}',
  summary: 'What is published under a name; with a version or tag behind it, that version alone',
  params: Package,
  also: conditional,
  answer: null,
  media: ['application/json', SHORT_MEDIA],
  problems: [...READING, 'policy_hold'],
})

export const getTarball = declare({
  ...read,
  path: '/npm/{repo}/{package+}/-/{file}',
  summary: 'The tarball of a version',
  params: Type.Object({ ...Package.properties, ...File }),
  also: { ...conditional, 206: 'A range', 416: 'No such range' },
  answer: null,
  media: ['application/octet-stream'],
  problems: [...READING, 'policy_hold', 'not_judged', 'storage_unavailable', 'storage_full'],
})

export const getTags = declare({
  ...read,
  path: '/npm/{repo}/-/package/{package+}/dist-tags',
  summary: 'The dist-tags of a name',
  params: Package,
  answer: null,
  media: ['application/json'],
  problems: READING,
})

export const getKeys = declare({
  ...read,
  path: '/npm/{repo}/-/npm/v1/keys',
  summary: 'The keys that upstreams of the repository sign their files with (npm audit signatures)',
  params: Type.Object(Repo),
  answer: Type.Object({ keys: Type.Array(Type.Object({}, { additionalProperties: true })) }, { title: 'NpmKeys' }),
  problems: READING,
})

const attested = {
  ...read,
  summary: 'The verified attestations of a version (npm audit signatures)',
  also: conditional,
  answer: null,
  media: ['application/json'],
  problems: [...READING, 'policy_hold'],
} as const
const AttestedVersion = Type.Object({
  ...Repo,
  package: Type.String({ description: 'A name and its version.', examples: ['@acme/hello@1.0.0'] }),
})

export const getAttestations = declare({
  ...attested,
  path: '/npm/{repo}/-/npm/v1/attestations/{package+}',
  params: AttestedVersion,
})

/** npm 10 puts the whole path of an address behind that of its registry. */
export const getAttestationsTwice = declare({
  ...attested,
  path: '/npm/{repo}/npm/{again}/-/npm/v1/attestations/{package+}',
  params: Type.Object({ ...AttestedVersion.properties, again: Type.String() }),
})

export const putPackage = declare({
  ...upload,
  method: 'PUT',
  path: '/npm/{repo}/{package+}',
  summary: 'Publish a version (npm publish); without an attachment, deprecate versions',
  params: Package,
  limit: 'publish',
  stream: { mostBytes: 1024 ** 3, media: ['application/json'] },
  success: 201,
  also: { 200: 'Versions are deprecated, or not any more' },
  answer: Done,
  problems: [...PIPELINE_PROBLEMS, ...WRITING, 'version_exists', 'version_spent', 'policy_hold'],
})

export const putRevision = declare({
  ...upload,
  method: 'PUT',
  path: '/npm/{repo}/{package+}/-rev/{rev}',
  summary: 'The first step of npm unpublish: changes deprecations only; DELETE takes the version away',
  params: Type.Object({ ...Package.properties, ...Revised }),
  limit: 'publish',
  stream: { mostBytes: 1024 ** 3, media: ['application/json'] },
  answer: Done,
  problems: WRITING,
})

export const deletePackage = declare({
  ...remove,
  path: '/npm/{repo}/{package+}/-rev/{rev}',
  summary: 'Unpublish all versions of a name',
  params: Type.Object({ ...Package.properties, ...Revised }),
  answer: Done,
  problems: [...WRITING, 'storage_unavailable', 'already_running'],
})

export const deleteTarball = declare({
  ...remove,
  path: '/npm/{repo}/{package+}/-/{file}/-rev/{rev}',
  summary: 'Unpublish a version',
  params: Type.Object({ ...Package.properties, ...File, ...Revised }),
  answer: Done,
  problems: [...WRITING, 'storage_unavailable', 'already_running'],
})

export const putTag = declare({
  ...upload,
  method: 'PUT',
  path: '/npm/{repo}/-/package/{package+}/dist-tags/{tag}',
  summary: 'Point a dist-tag at a version, which is the body as a JSON text',
  params: Tag,
  // Our own bodies are objects.
  stream: { mostBytes: 1024, media: ['application/json'] },
  success: 201,
  answer: Done,
  problems: WRITING,
})

export const deleteTag = declare({
  ...upload,
  method: 'DELETE',
  path: '/npm/{repo}/-/package/{package+}/dist-tags/{tag}',
  summary: 'Remove a dist-tag',
  params: Tag,
  answer: Done,
  problems: WRITING,
})

export const getPing = declare({
  ...common,
  method: 'GET',
  path: '/npm/{repo}/-/ping',
  summary: 'An empty object, for npm ping',
  access: 'public',
  params: Type.Object(Repo),
  answer: Type.Object({}),
  problems: [],
})

export const getWhoami = declare({
  ...common,
  method: 'GET',
  path: '/npm/{repo}/-/whoami',
  summary: 'The name behind the credential',
  access: 'reader+',
  action: 'always',
  params: Type.Object(Repo),
  answer: Type.Object({ username: Type.String() }, { title: 'NpmWhoami' }),
  problems: DATABASE,
})

export const getSearch = declare({
  ...common,
  method: 'GET',
  path: '/npm/{repo}/-/v1/search',
  summary: 'Names with all words of a text in them or in their description',
  access: 'public',
  params: Type.Object(Repo),
  query: Type.Object({
    text: Type.String({ default: '', maxLength: 200 }),
    size: Type.Integer({ minimum: 0, maximum: 250, default: 20 }),
    from: Type.Integer({ minimum: 0, maximum: 100_000, default: 0, description: 'Packages to leave out.' }),
  }),
  answer: Type.Object(
    {
      objects: Type.Array(Type.Object({}, { additionalProperties: true })),
      total: Type.Integer(),
      time: Type.String(),
    },
    { title: 'NpmSearch' },
  ),
  problems: READING,
})

export const putUser = declare({
  ...common,
  method: 'PUT',
  path: '/npm/{repo}/-/user/{user}',
  summary: 'Log in with user name and password (npm login --auth-type=legacy): gives an API token for npm',
  access: 'public',
  limit: 'login',
  params: Type.Object({
    ...Repo,
    user: Type.String({ examples: ['org.couchdb.user:ada'], description: 'Who logs in.' }),
  }),
  example: { name: 'ada', password: 'correct-Horse-7' },
  body: Type.Object({ name: Type.String({ maxLength: 256 }), password: Type.String({ maxLength: 1024 }) }),
  success: 201,
  answer: Type.Object(
    { ok: Type.Literal(true), id: Type.String(), rev: Type.String(), token: Type.String() },
    { title: 'NpmLogin' },
  ),
  problems: [...DATABASE, 'unauthorized', 'mfa_required', 'ldap_unavailable', 'already_exists'],
})

export const deleteUserToken = declare({
  ...common,
  method: 'DELETE',
  path: '/npm/{repo}/-/user/token/{token}',
  summary: 'Revoke the API token of this request (npm logout)',
  access: 'reader+',
  action: 'always',
  params: Type.Object({ ...Repo, token: Type.String() }),
  answer: Done,
  problems: [...DATABASE, 'not_found'],
})

/** What npm asks first; it answers so that npm asks for a password. */
export const postWebLogin = declare({
  ...common,
  method: 'POST',
  path: '/npm/{repo}/-/v1/login',
  summary: 'Not there: clients fall back to a password',
  access: 'public',
  flags: { ...common.flags, optionalBody: true },
  params: Type.Object(Repo),
  answer: Done,
  problems: ['not_found'],
})

const audit = {
  ...common,
  method: 'POST',
  access: 'public',
  params: Type.Object(Repo),
  stream: { mostBytes: 8 * 1024 ** 2, media: ['application/json'] },
  answer: Type.Object({}, { additionalProperties: true }),
  problems: READING,
} as const

export const postBulkAdvisories = declare({
  ...audit,
  path: '/npm/{repo}/-/npm/v1/security/advisories/bulk',
  summary: 'The advisories about installed versions, from our own advisory data (npm audit)',
})

export const postAudits = declare({
  ...audit,
  path: '/npm/{repo}/-/npm/v1/security/audits',
  summary: 'The same for the tree of a lockfile (yarn 1, pnpm)',
})

export const postQuickAudits = declare({
  ...audit,
  path: '/npm/{repo}/-/npm/v1/security/audits/quick',
  summary: 'The same for the tree of a lockfile (npm 6)',
})
