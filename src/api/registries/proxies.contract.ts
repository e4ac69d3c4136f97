// Declarations below /registries about proxies: what they hold, who asks for it, and names that they never ask for.
import Type from 'typebox'
import { CURATION_RULES } from '../../domain/curation.ts'
import { declare } from '../http/route.ts'
import { listOf, Nullable, pageOf, pageQuery, TimeSchema } from '../http/schemas.ts'
import { Which } from './registries.contract.ts'

const tag = 'registries'

const WithheldSchema = Type.Object(
  {
    name: Type.String(),
    version: Type.String(),
    reasons: Type.Array(Type.Object({ rule: Type.Enum([...CURATION_RULES]), text: Type.String() })),
    until: Nullable(TimeSchema),
    asked: Type.Integer({ description: 'how often' }),
    asked_by: Type.String(),
    asked_at: TimeSchema,
    status: Nullable(Type.String({ description: 'of its record; null while nobody looks at it' })),
  },
  { title: 'WithheldVersion' },
)

export const getWithheld = declare({
  method: 'GET',
  path: '/registries/{format}/{name}/withheld',
  tag,
  summary: 'Versions that clients asked for and that the rules of a proxy hold',
  access: 'reader+',
  params: Which,
  query: Type.Object(pageQuery()),
  answer: pageOf(WithheldSchema),
  problems: ['not_found'],
})

export const postRequests = declare({
  method: 'POST',
  path: '/registries/{format}/{name}/requests',
  tag,
  summary: 'Ask for a version that a proxy holds: it is fetched and judged, and waits for a review',
  access: 'uploader+',
  action: 'upload',
  targets: 'handler',
  limit: 'import',
  example: { name: 'left-pad', version: '1.3.0' },
  params: Which,
  body: Type.Object({
    name: Type.String({ minLength: 1, maxLength: 214 }),
    version: Type.String({ minLength: 1, maxLength: 256 }),
  }),
  answer: Type.Object({ name: Type.String(), version: Type.String(), files: Type.Array(Type.String()) }),
  problems: ['validation_error', 'not_found', 'policy_blocked', 'upstream_error', 'forbidden_target', 'storage_full'],
})

const ClaimSchema = Type.Object(
  { pattern: Type.String(), created_at: TimeSchema, created_by: Type.String() },
  { title: 'NameClaim' },
)
const Pattern = Type.String({
  minLength: 1,
  maxLength: 214,
  description: 'a name, or the beginning of names with `*` behind it',
  examples: ['@team/*'],
})

export const getClaims = declare({
  method: 'GET',
  path: '/registries/{format}/{name}/claims',
  tag,
  summary: 'Names that belong to a hosted repository, so that no proxy asks its upstream for them',
  access: 'reader+',
  params: Which,
  answer: listOf('claims', ClaimSchema),
  problems: ['not_found'],
})

export const postClaims = declare({
  method: 'POST',
  path: '/registries/{format}/{name}/claims',
  tag,
  summary: 'Claim a name, or the names of a scope, for a hosted repository',
  access: 'admin',
  example: { pattern: '@team/*' },
  idempotencyKey: true,
  params: Which,
  body: Type.Object({ pattern: Pattern }),
  success: 201,
  answer: ClaimSchema,
  problems: ['validation_error', 'not_found', 'not_hosted', 'already_exists'],
})

export const deleteClaims = declare({
  method: 'DELETE',
  path: '/registries/{format}/{name}/claims',
  tag,
  summary: 'Give a claim up: proxies ask their upstreams for its names again',
  access: 'admin',
  params: Which,
  query: Type.Object({ pattern: Pattern }),
  answer: Type.Object({ status: Type.Literal('deleted'), pattern: Type.String() }),
  problems: ['not_found'],
})
