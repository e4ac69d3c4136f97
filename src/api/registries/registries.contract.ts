// Declarations of /registries: repositories of libraries, made and changed at run time.
import Type from 'typebox'
import { INSTALL_SCRIPTS, PROVENANCE } from '../../domain/curation.ts'
import { REPOSITORY_KINDS, REPOSITORY_NAME } from '../../domain/repositories.ts'
import { registryFormats } from '../../formats/index.ts'
import { declare } from '../http/route.ts'
import { listOf, Nullable, TimeSchema } from '../http/schemas.ts'

const tag = 'registries'

const RegistryFormatSchema = Type.Enum(
  registryFormats.map(({ id }) => id),
  { title: 'RegistryFormat' },
)
const Name = Type.String({ pattern: REPOSITORY_NAME, description: 'of the repository', examples: ['team'] })
export const Which = Type.Object({ format: RegistryFormatSchema, name: Name })

const Rules = {
  min_age_days: Type.Integer({ minimum: 0, maximum: 365, description: 'younger versions are held; 0 for none' }),
  fixes_pass: Type.Boolean({
    description: 'a version that mends a severe finding of the newest listed one does not wait',
  }),
  deny_licenses: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 200 }),
  install_scripts: Type.Enum([...INSTALL_SCRIPTS], {
    description: 'of versions with scripts at installation; `hold_new`: hold where the version before had none',
  }),
  provenance: Type.Enum([...PROVENANCE], { description: '`warn`: when it was lost; `require`: hold without it' }),
  explain_holds: Type.Boolean({ description: 'whether clients hear of held versions' }),
}
const CurationSchema = Type.Object(Rules, { title: 'Curation', description: 'of a proxy: its rules' })

const RepositorySchema = Type.Object(
  {
    key: Type.String({ description: 'its name among the distributions of packages, decisions and audit entries' }),
    format: Type.String(),
    name: Type.String(),
    kind: Type.Enum([...REPOSITORY_KINDS]),
    description: Type.String(),
    public: Type.Boolean({ description: 'whether clients without a credential may read it' }),
    members: Type.Array(Type.String(), {
      description: 'of a group: names, in the order in which a name is looked for',
    }),
    upstream: Nullable(
      Type.Object(
        {
          url: Type.String(),
          has_credential: Type.Boolean({ description: 'whether it is asked with one, which nobody can read back' }),
        },
        { title: 'RepositoryUpstream' },
      ),
    ),
    curation: Nullable(CurationSchema),
    url: Type.String({ description: 'for the clients of the ecosystem' }),
    packages: Type.Integer({ description: 'records in it; of a group: in its members' }),
    created_at: TimeSchema,
    created_by: Type.String(),
  },
  { title: 'Repository' },
)

const Detailed = Type.Object(
  {
    ...RepositorySchema.properties,
    setup: Type.Array(
      Type.Object({
        client: Type.String(),
        into: Type.String({ description: 'the file that the text goes to, or `sh`' }),
        text: Type.String(),
      }),
    ),
  },
  { title: 'RepositoryDetails' },
)

const Changes = {
  upstream: Type.Optional(
    Type.Object(
      {
        url: Type.String({ maxLength: 500, examples: ['https://registry.example.org'] }),
        authorization: Type.Optional(
          Nullable(Type.String({ maxLength: 4000, description: 'the header of this name; stays when left out' })),
        ),
      },
      { description: 'of a proxy: the registry that it asks' },
    ),
  ),
  curation: Type.Optional(Type.Partial(CurationSchema, { title: 'CurationChange' })),
  description: Type.Optional(Type.String({ maxLength: 500 })),
  public: Type.Optional(Type.Boolean({ description: 'whether clients without a credential may read it' })),
  members: Type.Optional(
    Type.Array(Name, { maxItems: 50, description: 'of a group: the first member that has a name gives it' }),
  ),
}

export const getRegistries = declare({
  method: 'GET',
  path: '/registries',
  tag,
  summary: 'All repositories of libraries',
  access: 'reader+',
  answer: listOf('repositories', RepositorySchema),
  problems: [],
})

export const postRegistries = declare({
  method: 'POST',
  path: '/registries',
  tag,
  summary:
    'Make a repository: `hosted` keeps what is published to it, `proxy` gives what an upstream has, `group` shows its members',
  access: 'admin',
  example: { format: 'npm', name: 'team', kind: 'hosted', description: 'Libraries of our own', public: false },
  idempotencyKey: true,
  body: Type.Object({ format: RegistryFormatSchema, name: Name, kind: Type.Enum([...REPOSITORY_KINDS]), ...Changes }),
  success: 201,
  answer: RepositorySchema,
  problems: ['validation_error', 'already_exists'],
})

const EDITED = ['description', 'public', 'members', 'upstream', 'curation']

export const getRegistriesFormatName = declare({
  method: 'GET',
  path: '/registries/{format}/{name}',
  tag,
  summary: 'A repository of libraries, and how its clients are set up',
  access: 'reader+',
  edited: EDITED,
  params: Which,
  answer: Detailed,
  problems: ['not_found'],
})

export const patchRegistriesFormatName = declare({
  method: 'PATCH',
  path: '/registries/{format}/{name}',
  tag,
  summary: 'Change a repository; what is left out stays as it is',
  access: 'admin',
  example: { public: true },
  edited: EDITED,
  params: Which,
  body: Type.Object(Changes),
  answer: RepositorySchema,
  problems: ['validation_error', 'not_found'],
})

export const deleteRegistriesFormatName = declare({
  method: 'DELETE',
  path: '/registries/{format}/{name}',
  tag,
  summary: 'Remove a repository that has no packages and is in no group',
  access: 'admin',
  params: Which,
  answer: Type.Object({ status: Type.Literal('deleted'), key: Type.String() }),
  problems: ['not_found', 'not_empty'],
})
