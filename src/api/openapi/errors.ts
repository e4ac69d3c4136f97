// Errors in the document: one schema, narrowed to the codes of a status, and one response for each set of codes.
import { STATUS_CODES } from 'node:http'
import Type, { type TObject } from 'typebox'
import type { ProblemCode } from '../../domain/problem.ts'
import { IMPLIED_CODES, impliedProblems } from '../http/implied-problems.ts'
import { STATUS_OF } from '../http/problems.ts'
import type { Declaration } from '../http/route.ts'
import { HeldReasonSchema, PackageStatusSchema } from '../shared/words.ts'
import { Nullable, TimeSchema } from '../http/schemas.ts'
import { operationId } from './operation-id.ts'
import type { Schemas } from './schemas.ts'

const text = (description: string) => Type.Optional(Type.String({ description }))
const number = (description: string) => Type.Optional(Type.Integer({ description }))

/** The body of every error. The keys beside `detail` and `code` depend on the code. */
export const ErrorSchema = Type.Object(
  {
    detail: Type.String({ description: 'one sentence for people' }),
    code: Type.String({ description: 'a word for programs, which never changes' }),
    errors: Type.Optional(
      Type.Array(Type.Object({ field: Type.String(), message: Type.String() }, { title: 'FieldError' }), {
        description: 'the fields that are missing or wrong',
      }),
    ),
    request_id: text('what the service log has about it'),
    retry_after: number('seconds until it may be tried again'),
    limit: number('requests per minute, or streams at a time'),
    limit_bytes: number('the largest file'),
    feature: text('what the edition lacks'),
    edition: text('of this service'),
    allow: Type.Optional(Type.Array(Type.String(), { description: 'the methods of this address' })),
    etag: text('the current state, for `If-Match`'),
    current: Type.Optional(Type.Unknown({ description: 'the present values of what people edit' })),
    revision: number('of the settings'),
    updated_at: Type.Optional(Nullable(TimeSchema)),
    updated_by: Type.Optional(Nullable(Type.String())),
    package: text('the package that is there'),
    version: text('its version'),
    arch: text('its architecture'),
    status: Type.Optional(PackageStatusSchema),
    existing_status: Type.Optional(PackageStatusSchema),
    current_status: Type.Optional(PackageStatusSchema),
    sha256: text('of the file that is there'),
    existing_sha256: text('of the file that is there'),
    incoming_sha256: text('of the file that came'),
    expected: text('the digest that was stated'),
    actual: text('the digest of the bytes that arrived'),
    candidates: Type.Optional(
      Type.Array(
        Type.Object(
          {
            distribution: Type.String(),
            arch: Type.String(),
            sha256: Type.String(),
            held_reason: Nullable(HeldReasonSchema),
            cve_ids: Type.Array(Type.String()),
          },
          { title: 'Candidate' },
        ),
        { description: 'the held packages that fit' },
      ),
    ),
    reserved_name: text('the name, or a name it claims, that is reserved'),
    claim: text('how the package claims that name'),
    pattern: text('of the reservation'),
    reservation_id: number('of the reservation'),
    reserved_for_source: Type.Optional(Nullable(Type.Integer({ description: 'null: for uploads' }))),
    source_id: number('the source that was never read'),
    key: text('of the built-in source'),
    reason: text('why the upstream repository could not be read'),
    error: text('the same as `code`, for programs that sign in by RFC 8628'),
    task_id: number('the task that goes on, or is running'),
    state: text('in which the task ended'),
    result: Type.Optional(Type.Unknown({ description: 'what was done before it failed' })),
  },
  {
    title: 'Error',
    description: 'Every error. Keys beside `detail` and `code` depend on the code: docs/error-codes.md.',
  },
)

/** The errors that every operation may answer, as far as its declaration allows them. */
const COMMON = 'Common'

/** A component of the document. */
export const HEADERS = {
  ETag: { description: 'The state, for `If-Match`', schema: { type: 'string' } },
  RetryAfter: { description: 'Seconds until it may be tried again', schema: { type: 'integer', minimum: 1 } },
}
const RETRY_AFTER = { $ref: '#/components/headers/RetryAfter' }

export interface Responses {
  /**
   * @returns the errors of a route: a reference for each status that has a code of its own, and `default` for those that
   * follow from the declaration of any route. Listed everywhere, the latter were half of the document.
   */
  of(route: Declaration): Record<string, object>
  /** the responses that were referred to, sorted by name */
  named(): Record<string, object>
}

export function createResponses(schemas: Schemas): Responses {
  /** by status and codes */
  const names = new Map<string, string>()
  const responses = new Map<string, object>()

  function refer(route: Declaration, status: number, codes: readonly ProblemCode[]): object {
    const verdict = route.answer && codes.some((code) => route.verdicts?.includes(code))
    const key = `${status} ${[...codes].sort().join(' ')}${verdict ? ` ${operationId(route)}` : ''}`
    const name = names.get(key) ?? nameOf(route, status, codes)
    if (!names.has(key)) {
      names.set(key, name)
      const error = narrowed(name, codes)
      const schema = verdict ? Type.Union([Type.Intersect([route.answer as TObject, error]), error]) : error
      responses.set(name, {
        // The codes are in the schema.
        description: STATUS_CODES[status] ?? String(status),
        ...headersOf(status),
        content: { 'application/json': { schema: schemas.shown(schema) } },
      })
    }
    return { $ref: `#/components/responses/${name}` }
  }

  function common(): object {
    if (!responses.has(COMMON))
      responses.set(COMMON, {
        description: 'Any error that follows from who calls an operation and how, each with its own status',
        headers: { 'Retry-After': RETRY_AFTER },
        content: { 'application/json': { schema: schemas.shown(narrowed(COMMON, IMPLIED_CODES)) } },
      })
    return { $ref: `#/components/responses/${COMMON}` }
  }

  return {
    of(route) {
      const implied: readonly ProblemCode[] = impliedProblems(route)
      const codes = [...new Set([...implied, ...route.problems])]
      const byStatus = [...new Set(codes.map((code) => STATUS_OF[code]))].map(
        (status) => [status, codes.filter((code) => STATUS_OF[code] === status)] as const,
      )
      if (route.protocol)
        return Object.fromEntries(byStatus.map(([status, given]) => [String(status), ofProtocol(route, given)]))
      const own = byStatus.filter(([, given]) => given.some((code) => !implied.includes(code)))
      return {
        ...Object.fromEntries(own.map(([status, given]) => [String(status), refer(route, status, given)])),
        default: common(),
      }
    },
    named: () => Object.fromEntries([...responses].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** Other protocols have their own bodies. */
function ofProtocol({ protocol }: Declaration, codes: readonly ProblemCode[]): object {
  return { description: codes.join(', '), content: { [protocol?.errors.media ?? '']: {} } }
}

/** The name of a response: of one or two codes, which it says, or of the first operation that has all these codes. */
function nameOf(route: Declaration, status: number, codes: readonly ProblemCode[]): string {
  const words = (code: string) =>
    code.replace(/_error$/, '').replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
  return codes.length <= 2 ? [...codes].sort().map(words).join('Or') : `${words(operationId(route))}${status}`
}

function narrowed(name: string, codes: readonly ProblemCode[]): TObject {
  const Code = Type.Object({ code: Type.Optional(Type.Enum([...codes].sort())) })
  // Generators of Go code have one name space for responses and schemas.
  return Type.Intersect([ErrorSchema, Code], {
    title: `${name}Error`,
  }) as unknown as TObject
}

function headersOf(status: number): object {
  return status === 429 || status === 503 ? { headers: { 'Retry-After': RETRY_AFTER } } : {}
}
