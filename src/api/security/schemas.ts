// Schemas and request readers shared by the files of /security.
import Type from 'typebox'
import type { FastifyRequest } from 'fastify'
import type { Origin } from '../../domain/audit.ts'
import type { Caller } from '../../domain/caller.ts'
import { SEVERITIES, type Severity } from '../../domain/finding.ts'
import { invalidField } from '../../domain/problem.ts'
import type { Target } from '../../domain/scopes.ts'
import type { Actor } from '../../review/deps.ts'
import { CountsSchema, DecisionSchema, SlaSchema } from '../shared/decision-schemas.ts'
import { FindingSchema, ReviewReasonSchema } from '../shared/evidence-schemas.ts'
import { HeadSchema } from '../shared/records.ts'
import {
  DecisionActionSchema,
  FormatSchema,
  HeldReasonSchema,
  PolicyActionSchema,
  SeveritySchema,
} from '../shared/words.ts'
import { Nullable, TimeSchema } from '../http/schemas.ts'

export const NameVersion = Type.Object({ name: Type.String({ minLength: 1 }), version: Type.String({ minLength: 1 }) })
export const Narrowed = Type.Object({ distribution: Type.Optional(Type.String()), arch: Type.Optional(Type.String()) })
export const DecisionId = Type.Object({
  id: Type.Integer({ minimum: 1, maximum: 2 ** 53 - 1, description: 'number of the decision' }),
})

export const SecurityItem = Type.Intersect(
  [
    HeadSchema,
    Type.Object({
      sha256: Type.String(),
      source_package: Type.String(),
      source_version: Type.String(),
      format: FormatSchema,
      held_reason: Nullable(HeldReasonSchema),
      origin: Nullable(Type.String({ description: 'what requested the review' })),
      reasons: Type.Array(ReviewReasonSchema),
      review_since: Nullable(TimeSchema),
      scanned: Type.Boolean(),
      last_scan: Nullable(TimeSchema),
      cve_counts: CountsSchema,
      worst_severity: Nullable(SeveritySchema),
      total_cve: Type.Integer(),
      kev_count: Type.Integer(),
      high_epss_count: Type.Integer(),
      epss_max: Nullable(Type.Number({ description: 'the highest EPSS score of a finding' })),
      holding_count: Type.Integer({ description: 'findings that wait for a decision' }),
      hash_verified: Type.Boolean(),
      actions: Type.Array(PolicyActionSchema),
      decision: Nullable(DecisionSchema),
      sla: SlaSchema,
      quarantined_at: Nullable(TimeSchema),
      quarantined_by: Nullable(Type.String()),
      assigned_to: Nullable(Type.String({ description: 'who has to look at it' })),
      assigned_at: Nullable(TimeSchema),
      cve_results: Type.Optional(
        Type.Array(FindingSchema, { description: 'with `include_findings`: the first 100; `total_cve` counts all' }),
      ),
    }),
  ],
  { title: 'SecurityItem' },
)

/** The decision and its reasons, without the records it is about. */
export const DECISION_FIELDS = {
  decision: Type.Optional(Type.Enum(['approve', 'reject'])),
  action: Type.Optional(DecisionActionSchema),
  justification: Type.String({ description: '1 to 2000 characters' }),
  expires_in_days: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 3650 }))),
  cve_ids: Type.Optional(Nullable(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 10_000 }))),
  target_version: Type.Optional(Nullable(Type.String({ maxLength: 256 }))),
}

/** What the person who decides has seen. */
export const SeenDigest = Type.Optional(
  Nullable(
    Type.String({
      pattern: '^[0-9a-fA-F]{64}$',
      description: 'of the file that was looked at; another one is refused',
    }),
  ),
)

export const DecisionBodySchema = Type.Object(
  {
    ...DECISION_FIELDS,
    sha256: SeenDigest,
    distribution: Type.Optional(Nullable(Type.String())),
    arch: Type.Optional(Nullable(Type.String())),
  },
  { title: 'DecisionBody' },
)

/** The query keys take precedence. */
export const NARROWED_BODY = {
  distribution: Type.Optional(Nullable(Type.String())),
  arch: Type.Optional(Nullable(Type.String())),
}

/** A decision can name its distribution in the query or in the body. */
export function targetsOf(input: {
  params: { name: string }
  query: { distribution?: string }
  body?: unknown
}): Target[] {
  const { distribution } = (input.body ?? {}) as { distribution?: string }
  const named = [input.query.distribution, distribution].filter((one) => one !== undefined)
  const { name } = input.params
  return named.length === 0 ? [{ name }] : named.map((one) => ({ name, distribution: one }))
}

export function actorOf(call: { caller: Caller; origin: Origin }): Actor {
  return { name: call.caller.name, origin: call.origin }
}

interface Selecting {
  params: { name: string; version: string }
  query: { distribution?: string | undefined; arch?: string | undefined }
}

/** The records a call is about. Query keys take precedence over keys of the body (decisions, section 4). */
export function selectorOf({ params, query }: Selecting, body: unknown) {
  const pick = (key: 'distribution' | 'arch') => query[key] ?? textOf(body, key) ?? undefined
  return { name: params.name, version: params.version, distribution: pick('distribution'), arch: pick('arch') }
}

/** An optional string of a body. @throws Problem('validation_error') when the value is not a string */
export function textOf(body: unknown, key: string): string | null {
  if (body === undefined || body === null) return null
  if (typeof body !== 'object' || Array.isArray(body)) throw invalidField('body', 'must be object')
  const value = (body as Record<string, unknown>)[key]
  if (value === undefined || value === null) return null
  if (typeof value !== 'string') throw invalidField(key, 'must be string')
  return value
}

export const optionalBody = (raw: FastifyRequest): unknown => raw.body

/** A comma-separated list in a query. @throws Problem('validation_error') for words that are not in `words` */
export function wordsOf<T extends string>(
  field: string,
  text: string | undefined,
  words: readonly T[],
): T[] | undefined {
  if (text === undefined) return undefined
  const asked = text
    .split(',')
    .map((word) => word.trim().toLowerCase())
    .filter(Boolean)
  const found = asked.flatMap((word) => words.find((known) => known.toLowerCase() === word) ?? [])
  if (asked.length === 0 || found.length !== asked.length)
    throw invalidField(field, `must be one or more of ${words.join(', ')}`)
  return [...new Set(found)]
}

export const severitiesOf = (text: string | undefined): Severity[] | undefined => wordsOf('severity', text, SEVERITIES)
