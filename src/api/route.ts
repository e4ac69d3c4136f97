// The one shape in which an endpoint is declared. Validation, role, limit, OpenAPI and the contract test follow from it.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { Access } from '../domain/roles.ts'
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import type { ProblemCode } from '../domain/problem.ts'

/** Fixed limits by name; `api/limits.ts` holds their figures. Without one, the caller's role decides. */
export type LimitName = 'login' | 'credentials' | 'upload' | 'import' | 'distributions' | 'stream' | 'webhook' | 'none'

export interface Call<P, Q, B> {
  params: P
  query: Q
  body: B
  /** null on public routes when no valid credential came along */
  caller: Caller | null
  origin: Origin
  raw: FastifyRequest
  reply: FastifyReply
}

/** A call to a route whose access is not public: somebody is there. */
export interface SignedCall<P, Q, B> extends Call<P, Q, B> {
  caller: Caller
}

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** below `/api/v1`, or from the root when `root` is set; parameters as `{name}`; without trailing slash */
  path: string
  root?: boolean
  /** first word of the documentation group */
  tag: string
  summary: string
  access: Access | 'public'
  limit?: LimitName
  flags?: {
    /** a person's session is needed, an API token gets 403 `session_required` */
    sessionOnly?: boolean
    /** a passive replica answers 503 `passive_replica` */
    leaderOnly?: boolean
    /** missing from the community edition: 402 `feature_unavailable` with this feature */
    enterprise?: string
    /** not in the OpenAPI document (aliases) */
    hidden?: boolean
    /** development only; 404 in production */
    developmentOnly?: boolean
    /** the handler reads the raw body itself */
    multipart?: boolean
    rawBody?: boolean
  }
  /** another limit than the 1 MB of all bodies */
  bodyLimitBytes?: number
  params?: TSchema
  query?: TSchema
  body?: TSchema
  /** status of success, 200 unless given; the handler may set another by `reply.code` */
  success?: 200 | 201
  /** success body; `null` for streams and files */
  answer: TSchema | null
  /** codes this route can give besides those every route of its kind can */
  problems: readonly ProblemCode[]
  /** Judges the request by its headers, before its body is read. @throws Problem */
  beforeBody?(request: FastifyRequest): void
  /** returns the body; undefined when it has sent the reply itself */
  handle(call: Call<never, never, never>): Promise<unknown>
}

type StaticOr<T, Otherwise> = T extends TSchema ? Static<T> : Otherwise

interface Declared<P, Q, B, A extends Access | 'public'> extends Omit<
  Route,
  'params' | 'query' | 'body' | 'handle' | 'access'
> {
  access: A
  params?: P
  query?: Q
  body?: B
  handle(
    call: A extends 'public'
      ? Call<StaticOr<P, object>, StaticOr<Q, object>, StaticOr<B, undefined>>
      : SignedCall<StaticOr<P, object>, StaticOr<Q, object>, StaticOr<B, undefined>>,
  ): Promise<unknown>
}

/** An endpoint without its handler: all that clients and the OpenAPI document need. */
export type Declaration = Omit<Route, 'handle' | 'beforeBody'>

type Optional = TSchema | undefined
type Handler<P, Q, B, A extends Access | 'public'> = Declared<P, Q, B, A>['handle']

/** Declares an endpoint in a `*.contract.ts` file, which imports no handler. */
export function declare<
  const A extends Access | 'public',
  P extends Optional = undefined,
  Q extends Optional = undefined,
  B extends Optional = undefined,
>(declaration: Omit<Declared<P, Q, B, A>, 'handle'>): Omit<Declared<P, Q, B, A>, 'handle'> {
  return declaration
}

/** Joins a declaration with its handler; the types of parameters, query and body come from the schemas. */
export function handle<A extends Access | 'public', P, Q, B>(
  declaration: Omit<Declared<P, Q, B, A>, 'handle'>,
  handler: Handler<P, Q, B, A>,
  more: Pick<Route, 'beforeBody'> = {},
): Route {
  return { ...declaration, ...more, handle: handler } as unknown as Route
}

/** A route in one piece, for tests. */
export function route<
  const A extends Access | 'public',
  P extends Optional = undefined,
  Q extends Optional = undefined,
  B extends Optional = undefined,
>(declared: Declared<P, Q, B, A>): Route {
  return declared as unknown as Route
}
